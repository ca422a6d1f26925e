# ViT-T with patches of 2 pixels for images of 32.
_base_ = './patchmix_vit-s2.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)),
    neck=dict(in_channels=192),
)
