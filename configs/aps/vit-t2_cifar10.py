# APS, ViT-T/2 on CIFAR-10: batch 512, 1600 epochs (Table 2: fine-tuned 97.4; 3200: train_cfg.max_epochs=3200).
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)),
    neck=dict(in_channels=192),
)
optim_wrapper = dict(optimizer=dict(lr=2e-3))  # 1e-3 per 256 images
