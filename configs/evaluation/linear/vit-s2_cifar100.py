# ViT-S/2 on CIFAR-100: linear probe as in all rows of Table 3 of PatchMix (its own: 78.7).
_base_ = './any_cifar100.py'
