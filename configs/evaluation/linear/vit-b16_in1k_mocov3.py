# MoCo v3 and SDMP, ViT-B/16 on ImageNet-1K: linear probe (SDMP, Table 1: 76.7 and 77.2).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(
    backbone=dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072))),
    head=dict(in_channels=768),
)
