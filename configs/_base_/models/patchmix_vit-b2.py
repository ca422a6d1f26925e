# ViT-B with patches of 2 pixels for images of 32.
_base_ = './patchmix_vit-s2.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768),
)
