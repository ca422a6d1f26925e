# MoCo v3, SDMP and rivals, ViT-S/16 on ImageNet-1K: linear probe (SDMP, Table 1: 73.2 and 73.8).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_bilinear.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_mocov3.py',
    '../../_base_/evaluation/runtime.py',
]
