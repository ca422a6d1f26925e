# AdamW as DINO: 5e-4 per 256 images, batch 1024, 10 epochs of warm-up, gradients clipped at 3.
_base_ = './patchmix_300e.py'

optim_wrapper = dict(clip_grad=dict(max_norm=3.0))
