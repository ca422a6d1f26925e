# Any ResNet with CIFAR's stem on CIFAR-100: linear probe, MoCo v3's recipe.
_base_ = './r50_cifar100_mocov3.py'
