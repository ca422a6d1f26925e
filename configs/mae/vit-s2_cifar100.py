# MAE, ViT-S/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 80.0).
_base_ = './vit-s2_cifar10.py'

data = 'cifar100'
