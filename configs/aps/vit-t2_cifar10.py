# APS, ViT-T/2 on CIFAR-10: batch 512, 1600 epochs (Table 2: fine-tuned 97.4; 3200: schedule.epochs=3200).
_base_ = './vit-s2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)))
optimizer = dict(lr=1e-3)
