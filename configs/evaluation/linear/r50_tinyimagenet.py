# MoCo v2 and MixCo, ResNet-50 on TinyImageNet: linear probe (MixCo, Table 1: 45.82 and 49.96).
_base_ = [
    '../../_base_/evaluation/datasets/tinyimagenet_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=200))
optim_wrapper = dict(optimizer=dict(lr=3.0))  # not scaled with the batch
