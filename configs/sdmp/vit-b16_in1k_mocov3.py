# SDMP on MoCo v3, ViT-B/16 on ImageNet-1K, 300 epochs (Table 1: linear 77.2).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
