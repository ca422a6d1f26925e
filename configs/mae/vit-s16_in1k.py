# MAE, ViT-S/16 on ImageNet-1K: batch 4096, 1600 epochs (APS, Table 1: fine-tuned 79.5).
_base_ = ['../_base_/methods/mae.py', '../_base_/data/in1k.py']
