# PatchMix, ViT-S/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 94.6).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/cifar10.py']

model = dict(backbone=dict(patch_size=2))
views = dict(all=dict(crop=(0.1, 1.0)))
optimizer = dict(lr=5e-4)
schedule = dict(epochs=800, warmup=100, final=1e-6)
batch = 512
