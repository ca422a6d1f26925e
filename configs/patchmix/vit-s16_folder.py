# PatchMix, ViT-S/16 on your own images: --data-root DIR. One GPU, batch 128, 300 epochs of the ImageNet recipe.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/folder.py']

# Not the paper's: learned positions cost accuracy in short runs on small data.
model = dict(backbone=dict(fixed_position=True))
batch = 1024
