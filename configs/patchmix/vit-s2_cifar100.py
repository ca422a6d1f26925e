# PatchMix, ViT-S/2 on CIFAR-100: batch 512, 800 epochs (Table 3: kNN 75.4).
_base_ = './vit-s2_cifar10.py'

data = 'cifar100'
