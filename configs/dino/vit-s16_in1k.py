# DINO, ViT-S/16 on ImageNet-1K: batch 1024 (8 x 128), 300 epochs (PatchMix, Table 2: kNN 72.8).
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/in1k_dino.py',
    '../_base_/schedules/dino_300e.py',
    '../_base_/dino_runtime.py',
]
