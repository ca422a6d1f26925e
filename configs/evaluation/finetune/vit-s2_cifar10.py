# ViT-S/2 on CIFAR-10, fine-tuned as in all rows of Table 3 of PatchMix (its own: 98.1).
_base_ = './any_cifar10.py'
