# PatchMix, ViT-S/16 on ImageNet-1K: linear probe (Table 2: 77.4; 800 epochs: 77.9).
_base_ = [
    '../../_base_/evaluation/datasets/in1k.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
