# iBOT, ViT-S/16 on ImageNet-1K: batch 1024 (8 x 128), 800 epochs (PatchMix, Table 2 quotes linear 76.2, kNN 72.4).
_base_ = ['../_base_/methods/ibot.py', '../_base_/data/in1k.py']
