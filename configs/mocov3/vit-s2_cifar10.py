# MoCo v3, ViT-S/2 on CIFAR-10: batch 512, 800 epochs (PatchMix, Table 3: kNN 89.1).
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/cifar10.py']

model = dict(backbone=dict(patch_size=2))
views = dict(all=dict(crop=(0.1, 1.0), interpolation='bicubic'))
optimizer = dict(lr=1.5e-4)
batch = 512
schedule = dict(epochs=800)
