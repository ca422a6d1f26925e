# APS, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs (Table 1: fine-tuned 82.1; 800 epochs: 82.6).
_base_ = [
    '../_base_/models/aps.py',
    '../_base_/datasets/in1k_aps.py',
    '../_base_/schedules/aps_300e.py',
    '../_base_/aps_runtime.py',
]
