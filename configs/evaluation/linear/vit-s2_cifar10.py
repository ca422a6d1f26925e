# ViT-S/2 on CIFAR-10: linear probe as in all rows of Table 3 of PatchMix (its own: 96.0).
_base_ = './any_cifar10.py'
