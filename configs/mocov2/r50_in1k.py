# MoCo v2, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 67.5).
_base_ = '../_base_/datasets/in1k.py'

# A queue of 65,536 keys; batch statistics are of one process; keys are shuffled among processes.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', in_channels=2048, hidden_channels=2048, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999),
    objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, channels=128, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov2_steps]])
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# SGD as MoCo v2 trains ResNets: learning rate .03 for batch 256, cosine per epoch to 0, no warm-up.
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4))
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
