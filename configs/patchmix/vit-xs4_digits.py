# A small ViT on scikit-learn's digits: the quick start. Not from the paper; found by trying.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
        drop_path_rate=0.0,
    ),
    neck=dict(in_channels=96, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
    target=dict(momentum=0.99),  # short runs need a faster target
    mixer=dict(patch_size=4),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
optim_wrapper = dict(optimizer=dict(lr=2e-3))
param_scheduler = [
    dict(type='WarmupCosineLR', warmup=7, final=1e-6, by_epoch=True, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=70, val_interval=10)
default_hooks = dict(logger=dict(interval=11), checkpoint=dict(interval=10))
