# PatchMix, ViT-S/2 on CIFAR-100: linear probe (Table 3: 78.7).
_base_ = './any_cifar100.py'
