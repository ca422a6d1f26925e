# PatchMix, ViT-S/2 on CIFAR-10: linear probe (Table 3: 96.0).
_base_ = './any_cifar10.py'
