# PatchMix, ViT-B/16 on ImageNet-1K, fine-tuned (Table 2: 84.1).
_base_ = './vit-s16_in1k_patchmix.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768),
)
