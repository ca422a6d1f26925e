# MoCo v3, ViT-S/2 on CIFAR-100: batch 512, 800 epochs (PatchMix, Table 3: kNN 62.3).
_base_ = './vit-s2_cifar10.py'

data = 'cifar100'
