# Any ResNet with CIFAR's stem on CIFAR-10: linear probe, MoCo v3's recipe.
_base_ = './r50_cifar10_mocov3.py'
