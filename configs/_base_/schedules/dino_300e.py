# AdamW as DINO: 5e-4 per 256 images, batch 1024, 10 epochs of warm-up; weight decay rises on a cosine.
_base_ = './patchmix_300e.py'
