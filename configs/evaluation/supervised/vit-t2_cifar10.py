# ViT-T/2 on CIFAR-10 from scratch, 300 epochs (APS, Table 2: 89.6).
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)),
    head=dict(in_channels=192),
)
optim_wrapper = dict(optimizer=dict(lr=5e-4))  # 2e-3 per 512 images
