# PatchMix, ViT-S/2 on CIFAR-100, fine-tuned (Table 3: 86.0).
_base_ = './any_cifar100.py'
