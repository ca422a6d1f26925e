# iBOT, ViT-S/2 on CIFAR-100: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = './vit-s2_cifar10.py'

data = 'cifar100'
