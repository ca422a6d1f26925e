# DINO, ViT-S/16 on ImageNet-1K: batch 1024 (8 x 128), 300 epochs (PatchMix, Table 2: kNN 72.8).
_base_ = ['../_base_/methods/dino.py', '../_base_/data/in1k.py']
