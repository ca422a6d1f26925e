# MoCo v3, i-mix and SDMP, ResNet-50 on ImageNet-1K: linear probe (SDMP, Table 1: 72.8, 72.8, 73.5).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_mocov3.py',
    '../../_base_/evaluation/runtime.py',
]
optim_wrapper = dict(optimizer=dict(lr=0.4))  # .1 per 256 images
protocol = dict(feature='pooled output')
