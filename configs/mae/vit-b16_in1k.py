# MAE, ViT-B/16 on ImageNet-1K: batch 4096, 1600 epochs (APS, Table 1: fine-tuned 83.6).
_base_ = './vit-s16_in1k.py'

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
