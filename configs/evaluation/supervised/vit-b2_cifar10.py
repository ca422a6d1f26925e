# ViT-B/2 on CIFAR-10 from scratch, 300 epochs (APS, Table 2: 92.7).
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768),
)
optim_wrapper = dict(optimizer=dict(lr=1.25e-4))  # 5e-4 per 512 images
