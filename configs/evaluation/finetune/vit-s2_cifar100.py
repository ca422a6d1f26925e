# ViT-S/2 on CIFAR-100, fine-tuned as in all rows of Table 3 of PatchMix (its own: 86.0).
_base_ = './any_cifar100.py'
