# Any ResNet on CIFAR-10: linear probe, the recipe of MoCo v2 and MixCo.
_base_ = './r50_cifar10.py'
