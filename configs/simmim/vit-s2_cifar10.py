# SimMIM, ViT-S/2 on CIFAR-10: batch 512, 1600 epochs (APS, Table 2: fine-tuned 97.1).
_base_ = './vit-b2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536)))
