# MoCo v3, ResNet-50 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = [
    '../_base_/models/mocov3_r50.py',
    '../_base_/datasets/in1k_mocov3_r50.py',
    '../_base_/schedules/lars_mocov3_300e.py',
    '../_base_/default_runtime.py',
]
