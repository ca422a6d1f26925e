# SimSiam, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 70.0).
_base_ = '../_base_/datasets/in1k.py'

# No momentum encoder, no negatives; each term is half of the symmetric loss.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=2048, out_channels=2048, num_layers=3),
    predictor=dict(
        type='MLPHead', in_channels=2048, hidden_channels=512, out_channels=2048, last_norm=False, last_bias=True
    ),
    target=dict(type='StopGrad'),
    objective=dict(type='NegativeCosine', scale=1.0),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov2_steps]])
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# SGD for SimSiam: .05 for batch 256, lowered on a cosine after every epoch; the predictor keeps its learning rate.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.05, momentum=0.9, weight_decay=1e-4),
    paramwise_cfg=dict(custom_keys={'predictor': dict(fix_lr=True)}),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
