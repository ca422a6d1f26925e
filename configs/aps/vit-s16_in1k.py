# APS, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs (Table 1: fine-tuned 82.1; 800 epochs: 82.6).
_base_ = '../_base_/datasets/in1k.py'

# Momentum keys, MoCo v3's heads, fixed positions, loss times the temperature.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        fixed_position=True,
        frozen_patch_embed=True,  # the paper says "random", taken as in MoCo v3
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, num_layers=2),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=0.1, temperature_scale=1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
crop = dict(_base_.crop, type='RecordedResizedCrop', crop_ratio_range=(0.08, 1.0), interpolation='bilinear')
# A quarter of the patches of each view, sampled to overlap little.
views = dict(
    type='SampledPatchPair',
    patch_size=16,
    ratio=0.25,
    power=3.0,
    transforms=[[crop, *steps] for steps in _base_.byol_steps],
)
pack = dict(_base_.pack, algorithm_keys=['tokens', 'patch_grid'])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, pack])))
# AdamW, 8e-5 per 256 images, weight decay .1 on all parameters, 20 epochs of warm-up, per epoch.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=1.28e-3, betas=(0.9, 0.999), weight_decay=0.1),
)
param_scheduler = [dict(type='CutWarmupCosineLR', warmup=20, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='ChunkedPretrainLoop', max_epochs=300, val_interval=20)
custom_hooks = [*_base_.custom_hooks, dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05)]
