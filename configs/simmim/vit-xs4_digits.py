# SimMIM on the small ViT of configs/patchmix/vit-xs4_digits.py, with its rate and length; single patches masked.
_base_ = ['../_base_/methods/simmim.py', '../_base_/data/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
)
views = dict(after=[dict(type='mmpretrain.SimMIMMaskGenerator', mask_patch_size=4, mask_ratio=0.6)])
optimizer = dict(lr=8e-3)
schedule = dict(_delete_=True, type='WarmupCosineLR', epochs=70, warmup=16)
batch = 64
measure = dict(every=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
