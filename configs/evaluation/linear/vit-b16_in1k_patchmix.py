# PatchMix, ViT-B/16 on ImageNet-1K: linear probe (Table 2: 80.2).
_base_ = './vit-s16_in1k_patchmix.py'

model = dict(
    backbone=dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072))),
    head=dict(in_channels=768),
)
optim_wrapper = dict(optimizer=dict(lr=0.04))  # .01 per 256 images
