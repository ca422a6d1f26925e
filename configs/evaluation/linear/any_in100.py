# Linear probe on ImageNet-100: PatchMix's recipe for ImageNet-1K.
_base_ = [
    '../../_base_/evaluation/datasets/in100.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=100))
