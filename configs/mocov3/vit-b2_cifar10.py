# MoCo v3, ViT-B/2 on CIFAR-10: batch 512, 800 epochs (PatchMix, Table 3: kNN 89.5).
_base_ = './vit-s2_cifar10.py'

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
