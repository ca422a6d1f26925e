# PatchMix, ViT-B/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 95.8).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/cifar10.py']

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072), patch_size=2),
)
views = dict(all=dict(crop=(0.1, 1.0)))
optimizer = dict(lr=7.5e-4)
schedule = dict(epochs=800, warmup=100, final=1e-6)
batch = 512
