# MoCo v1, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.0).
_base_ = '../_base_/datasets/in1k.py'

# As MoCo v2, but with a linear head and temperature .07.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', in_channels=2048, hidden_channels=None, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999),
    objective=dict(type='InfoNCE', temperature=0.07, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, channels=128, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov1_steps]])
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# SGD: learning rate .03 for batch 256, a tenth after 120 and after 160 epochs.
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4))
param_scheduler = [dict(type='MultiStepLR', milestones=[120, 160], gamma=0.1, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
