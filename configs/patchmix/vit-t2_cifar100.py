# PatchMix, ViT-T/2 on CIFAR-100: batch 512, 800 epochs (Table 3: kNN 68.8).
_base_ = './vit-t2_cifar10.py'

data = 'cifar100'
