# APS, ViT-S/16 on ImageNet-1K, fine-tuned (Table 1: 82.1). No recipe is published: that of PatchMix's ViT-S.
_base_ = './vit-s16_in1k_patchmix.py'

model = dict(backbone=dict(arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536)))
protocol = dict(encoder='online')
