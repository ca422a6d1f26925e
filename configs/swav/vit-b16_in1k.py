# SwAV, ViT-B/16 on ImageNet-1K with the projector and the recipe of MoCo v3 (PatchMix, Table 2 quotes linear 71.6).
_base_ = './vit-s16_in1k.py'

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
