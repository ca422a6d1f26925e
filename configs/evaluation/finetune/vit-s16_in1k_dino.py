# DINO and SDMP on DINO, ViT-S/16 on ImageNet-1K, fine-tuned as DeiT trains (SDMP, Table 2: 79.7 and 80.0).
_base_ = './vit-s16_in1k_sdmp.py'

model = dict(backbone=dict(arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536)))
