# Any ResNet on CIFAR-100: linear probe, the recipe of MoCo v2 and MixCo.
_base_ = './r50_cifar100.py'
