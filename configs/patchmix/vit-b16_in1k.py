# PatchMix, ViT-B/16 on ImageNet-1K, 300 epochs (paper, Table 2: kNN 76.2).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/in1k.py']

model = dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)))
optimizer = dict(lr=7.5e-4)
