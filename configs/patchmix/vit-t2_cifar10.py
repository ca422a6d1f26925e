# PatchMix, ViT-T/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 92.9).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/cifar10.py']

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768), patch_size=2),
)
views = dict(all=dict(crop=(0.1, 1.0)))
optimizer = dict(lr=2e-3, weight_decay=(0.02, 0.2))
schedule = dict(epochs=800, warmup=100, final=1e-6)
batch = 512
