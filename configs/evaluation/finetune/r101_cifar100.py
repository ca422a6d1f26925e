# ResNet-101 on CIFAR-100, fine-tuned. Not from a paper.
_base_ = './r50_cifar100.py'

model = dict(backbone=dict(depth=101))
