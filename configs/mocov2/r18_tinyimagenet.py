# MoCo v2, ResNet-18 on TinyImageNet: batch 128, 100 epochs, learning rate .015 (the host of MixCo).
_base_ = '../_base_/datasets/tinyimagenet.py'

# The keys' batch statistics are of two groups, as on two GPUs.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=18, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', in_channels=512, hidden_channels=512, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=2),
    objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, channels=128, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov2_steps]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# SGD as MoCo v2 trains ResNets: learning rate .015 for batch 128, cosine per epoch to 0, no warm-up.
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.015, momentum=0.9, weight_decay=1e-4))
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(type='PretrainLoop', max_epochs=100, val_interval=10)
