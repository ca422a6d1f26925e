# MoCo v3, ViT-S/16 on your own images: --data-root DIR. One GPU, batch 128, 300 epochs of the ImageNet recipe.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/folder.py']
batch = 4096
