# PatchMix's linear probe of ViT-B/16: .01 per 256 images.
_base_ = './patchmix.py'

optimizer = dict(lr=0.01)
variants = []
