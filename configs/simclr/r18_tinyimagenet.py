# SimCLR, ResNet-18 on TinyImageNet: batch 128, 100 epochs, SGD (the host of MixCo).
_base_ = '../_base_/datasets/tinyimagenet.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=18, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(type='PlainHead', in_channels=512, hidden_channels=512, out_channels=128),
    target=dict(type='Shared'),
    # The authors contrast within a process.
    objective=dict(type='InfoNCE', temperature=0.5, negatives=['own'], gather=False),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.simclr_steps]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.15, momentum=0.9, weight_decay=1e-6))
# Constant for 11 epochs, then a cosine that would end after 100 more: the last epoch is at 3 % (the authors' code).
param_scheduler = [dict(type='CosineAnnealingLR', T_max=100, begin=10, end=110, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(type='PretrainLoop', max_epochs=100, val_interval=10)
