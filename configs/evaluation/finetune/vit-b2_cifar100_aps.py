# APS, ViT-B/2 on CIFAR-100, fine-tuned (Table 2: 85.1).
_base_ = './vit-s2_cifar100_aps.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768),
)
optim_wrapper = dict(optimizer=dict(lr=1.25e-4))  # 5e-4 per 512 images
