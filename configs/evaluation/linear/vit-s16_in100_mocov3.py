# MoCo v3 and SDMP, ViT-S/16 on ImageNet-100: linear probe (SDMP, Table 11: 79.1 and 81.8).
_base_ = [
    '../../_base_/evaluation/datasets/in100_bilinear.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_mocov3.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=100))
