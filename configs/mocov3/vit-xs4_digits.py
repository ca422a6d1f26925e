# MoCo v3 on the small ViT of configs/patchmix/vit-xs4_digits.py, with its target, learning rate and length.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/datasets/digits.py']

model = dict(
    target=dict(momentum=0.97),
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
    ),
    neck=dict(in_channels=96, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
)
optim_wrapper = dict(optimizer=dict(lr=2e-3))
param_scheduler = [dict(type='WarmupCosineLR', warmup=16, final=0.0, by_epoch=True, convert_to_iter_based=True)]
train_dataloader = dict(batch_size=64)
auto_scale_lr = dict(base_batch_size=64)
train_cfg = dict(max_epochs=70, val_interval=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
