# MoCo v3, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = [
    '../_base_/models/mocov3.py',
    '../_base_/datasets/in1k_mocov3.py',
    '../_base_/schedules/mocov3_300e.py',
    '../_base_/default_runtime.py',
]
