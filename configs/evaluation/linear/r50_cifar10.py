# Transfer of MoCo v2 and MixCo, ResNet-50 from TinyImageNet to CIFAR-10: linear probe (MixCo, Table 1: 80.60).
_base_ = [
    '../../_base_/evaluation/datasets/cifar10_224.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=10))
optim_wrapper = dict(optimizer=dict(lr=3.0))  # not scaled with the batch
