# PatchMix, ViT-B/16 on ImageNet-1K, 800 epochs (the paper trains this length for ViT-S only).
_base_ = './vit-b16_in1k.py'

schedule = dict(epochs=800)
