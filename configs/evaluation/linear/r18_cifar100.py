# Transfer of MoCo v2 and MixCo, ResNet-18 from TinyImageNet to CIFAR-100: linear probe (MixCo, Table 1: 53.23).
_base_ = './r50_cifar100.py'

model = dict(backbone=dict(backbone=dict(depth=18)), head=dict(in_channels=512))
