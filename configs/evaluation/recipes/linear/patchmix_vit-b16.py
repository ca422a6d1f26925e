# PatchMix's linear probe of ViT-B/16: .01 per 256 images.
_base_ = './patchmix.py'

optim_wrapper = dict(optimizer=dict(lr=0.04))
variants = None
