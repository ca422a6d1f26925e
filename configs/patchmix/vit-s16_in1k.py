# PatchMix, ViT-S/16 on ImageNet-1K: batch 1024 (8 x 128), 300 epochs (paper, Table 2: kNN 73.3).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/in1k.py']
