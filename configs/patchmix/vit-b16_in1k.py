# PatchMix, ViT-B/16 on ImageNet-1K, 300 epochs (paper, Table 2: kNN 76.2).
_base_ = './vit-s16_in1k.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768),
)
optim_wrapper = dict(optimizer=dict(lr=3e-3))  # 7.5e-4 per 256 images
