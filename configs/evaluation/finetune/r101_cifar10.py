# ResNet-101 on CIFAR-10, fine-tuned. Not from a paper.
_base_ = './r50_cifar10.py'

model = dict(backbone=dict(depth=101))
