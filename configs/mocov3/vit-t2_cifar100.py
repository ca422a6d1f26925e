# MoCo v3, ViT-T/2 on CIFAR-100: batch 512, 800 epochs (PatchMix, Table 3: kNN 58.9).
_base_ = './vit-s2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)))
data = 'cifar100'
