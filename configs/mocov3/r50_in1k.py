# MoCo v3, ResNet-50 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = '../_base_/datasets/in1k.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=4096, out_channels=256),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, last_norm=False),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=1.0, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# LARS in MoCo v3's form: learning rate .3 per 256 images, batch 4096, 10 epochs of warm-up.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='MoCoLARS', lr=4.8, momentum=0.9, weight_decay=1e-6),
)
param_scheduler = [dict(type='MoCoV3CosineLR', warmup=10, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='PretrainLoop', max_epochs=300, val_interval=10)
