# MoCo v3, ResNet-50 on CIFAR-10: batch 256, 200 epochs. SDMP (Table 5) gives no recipe: the schedule is i-mix'.
_base_ = '../_base_/datasets/cifar10.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet_CIFAR', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=4096, out_channels=256),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, last_norm=False),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=1.0, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.cifar_steps]])
train_dataloader = dict(batch_size=256, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# SGD, learning rate .125 for batch 256, cosine to 0 after 5 epochs of warm-up, 10 in runs of more than 500 epochs.
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.125, momentum=0.9, weight_decay=1e-4))
param_scheduler = [dict(type='WarmupCosineLR', warmup=5, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
