# A small ViT on scikit-learn's digits: the quick start. Not from the paper; chosen on held-out training images.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
        fixed_position=True,  # learned positions cost short runs some points
        drop_path_rate=0.0,
    ),
    neck=dict(in_channels=96, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
    target=dict(momentum=0.97),  # short runs need a faster target
    mixer=dict(patch_size=4),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
optim_wrapper = dict(optimizer=dict(lr=2e-3))
param_scheduler = [
    dict(type='WarmupCosineLR', warmup=16, final=1e-6, by_epoch=True, convert_to_iter_based=True),
]
train_dataloader = dict(batch_size=64)
auto_scale_lr = dict(base_batch_size=64)
train_cfg = dict(max_epochs=70, val_interval=14)
default_hooks = dict(logger=dict(interval=11), checkpoint=dict(interval=14), health=dict(grace=100))
