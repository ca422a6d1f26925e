# MoCo v3, i-mix and SDMP, ResNet-50 on CIFAR-100: linear probe (SDMP, Table 5). MoCo v3's recipe at batch 256.
_base_ = [
    '../../_base_/evaluation/datasets/cifar100_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_mocov3.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(backbone=dict(backbone=dict(type='mmpretrain.ResNet_CIFAR')), head=dict(num_classes=100))
optim_wrapper = dict(optimizer=dict(lr=0.1))
auto_scale_lr = dict(base_batch_size=256)
protocol = dict(feature='pooled output')
