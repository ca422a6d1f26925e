# PatchMix, ViT-S/2 on CIFAR-10, fine-tuned (Table 3: 98.1).
_base_ = './any_cifar10.py'
