# ViT-S with patches of 2 pixels for images of 32.
_base_ = './patchmix.py'

model = dict(backbone=dict(img_size=32, patch_size=2), mixer=dict(patch_size=2))
