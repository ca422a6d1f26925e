# SimMIM, ViT-T/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 79.1).
_base_ = './vit-b2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)))
data = 'cifar100'
