# PatchMix, ViT-B/2 on CIFAR-100: batch 512, 800 epochs (Table 3: kNN 75.7).
_base_ = './vit-b2_cifar10.py'

data = 'cifar100'
