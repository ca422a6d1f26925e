# A linear classifier on the class token of a frozen ViT-S/2 for images of 32 pixels.
_base_ = './probe_vit-s16.py'

model = dict(backbone=dict(backbone=dict(img_size=32, patch_size=2)), head=dict(num_classes=10))
