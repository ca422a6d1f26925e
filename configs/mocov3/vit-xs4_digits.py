# MoCo v3 on the small ViT of configs/patchmix/vit-xs4_digits.py, with its target, learning rate and length.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/digits.py']

model = dict(
    target=dict(momentum=0.97),
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
    neck=dict(hidden_channels=512, out_channels=128),
    predictor=dict(hidden_channels=512),
)
optimizer = dict(lr=8e-3)
schedule = dict(type='WarmupCosineLR', epochs=70, warmup=16, final=0.0)
batch = 64
measure = dict(every=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
