# BYOL, ResNet-50 on ImageNet-1K: batch 4096 by accumulating 16 of 8 x 32, 200 epochs (BSIM, Table 2: 69.1).
_base_ = '../_base_/datasets/in1k.py'

# Two symmetric terms of -2 cos.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(
        type='MLPHead',
        in_channels=2048,
        hidden_channels=4096,
        out_channels=256,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    predictor=dict(
        type='MLPHead',
        in_channels=256,
        hidden_channels=4096,
        out_channels=256,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='NegativeCosine', scale=2.0),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.08, 1.0))
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# LARS in mmpretrain's form: learning rate 4.8 for batch 4096, 10 epochs of warm-up, cosine; biases and norms excluded.
optim_wrapper = dict(
    type='OptimWrapper',
    accumulative_counts=16,
    constructor='FewGroupsConstructor',
    optimizer=dict(type='LARS', lr=4.8, momentum=0.9, weight_decay=1e-6),
    paramwise_cfg=dict(
        custom_keys={
            'bn': dict(decay_mult=0, lars_exclude=True),
            'bias': dict(decay_mult=0, lars_exclude=True),
            'downsample.1': dict(decay_mult=0, lars_exclude=True),
        }
    ),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=10, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=256)  # images on all processes; 16 such batches make the recipe's 4096
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
