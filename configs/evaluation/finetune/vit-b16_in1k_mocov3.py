# MoCo v3, ViT-B/16 on ImageNet-1K, fine-tuned as DeiT trains, 150 epochs (PatchMix, Table 2: 83.2).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768),
)
