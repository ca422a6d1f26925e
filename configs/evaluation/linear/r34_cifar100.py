# Transfer of MoCo v2 and MixCo, ResNet-34 from TinyImageNet to CIFAR-100: linear probe (MixCo, Table 1: 52.67).
_base_ = './r50_cifar100.py'

model = dict(backbone=dict(backbone=dict(depth=34)), head=dict(in_channels=512))
