# SwAV, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs, six local crops and a queue.
_base_ = '../_base_/datasets/in1k.py'

# All pairs (code of a view, other crop) weigh the same; all crops of one size share batch statistics.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(
        type='MLPHead',
        in_channels=2048,
        hidden_channels=2048,
        out_channels=128,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(type='StopGrad'),
    objective=dict(type='SwAV', channels=128, num_prototypes=3000, queue_from=15),
    memory=dict(
        queue1=dict(size=3840, channels=128, fed_by='view1'),
        queue2=dict(size=3840, channels=128, fed_by='view2'),
    ),
    views=dict(view1=1, view2=1, local=6),
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
    joint=[('view1', 'view2', 'local')],
)
global_crop = dict(_base_.crop, crop_ratio_range=(0.14, 1.0), interpolation='bilinear')
local_crop = dict(global_crop, scale=96, crop_ratio_range=(0.05, 0.14))
views = dict(
    type='KeyedMultiView',
    num_views=[2, 6],
    transforms=[[global_crop, *_base_.simclr_steps], [local_crop, *_base_.simclr_steps]],
)
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# LARS on all parameters, .6 for batch 256, cosine without warm-up (as the authors for this batch, and mmpretrain).
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='LARS', lr=0.6, momentum=0.9, weight_decay=1e-6),
    paramwise_cfg=dict(custom_keys={}),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, final=6e-4, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
custom_hooks = [*_base_.custom_hooks, dict(type='FrozenPrototypesHook', epochs=1)]
