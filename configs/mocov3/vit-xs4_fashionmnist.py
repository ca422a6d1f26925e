# MoCo v3 on the small ViT of configs/patchmix/vit-xs4_fashionmnist.py, with its learning rate and length.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/fashionmnist.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
    neck=dict(hidden_channels=512, out_channels=128),
    predictor=dict(hidden_channels=512),
)
optimizer = dict(lr=2e-3)
schedule = dict(type='WarmupCosineLR', epochs=30, warmup=3, final=0.0)
batch = 256
measure = dict(every=5)
