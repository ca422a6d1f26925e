# MAE on the small ViT of configs/patchmix/vit-xs4_digits.py, with its learning rate and length.
_base_ = ['../_base_/methods/mae.py', '../_base_/data/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
    neck=dict(decoder_embed_dim=96, decoder_depth=2, decoder_num_heads=3),
)
optimizer = dict(lr=8e-3)
schedule = dict(type='WarmupCosineLR', epochs=70, warmup=16, final=0.0)
batch = 64
measure = dict(every=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
