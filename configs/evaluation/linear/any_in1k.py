# Linear probe on ImageNet-1K, PatchMix's recipe (learning rate of ViT-S).
_base_ = [
    '../../_base_/evaluation/datasets/in1k.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
