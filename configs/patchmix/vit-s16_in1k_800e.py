# PatchMix, ViT-S/16 on ImageNet-1K, 800 epochs (paper, Table 2: kNN 74.3).
_base_ = './vit-s16_in1k.py'

schedule = dict(epochs=800)
