# MoCo v3, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/in1k.py']
