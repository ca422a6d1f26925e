# ViT-S/2 for images of 32 pixels as a classifier of mixed images.
_base_ = './classifier_vit-s16.py'

model = dict(backbone=dict(img_size=32, patch_size=2), head=dict(num_classes=10))
