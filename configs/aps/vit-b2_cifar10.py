# APS, ViT-B/2 on CIFAR-10: batch 512, 1600 epochs (Table 2: fine-tuned 98.2; 3200: schedule.epochs=3200).
_base_ = './vit-s2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
