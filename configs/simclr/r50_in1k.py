# SimCLR, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.6).
_base_ = '../_base_/datasets/in1k.py'

# NT-Xent over both views of all processes, gradient through the keys.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=2048, out_channels=128, last_affine=True, bias=True),
    target=dict(type='Shared'),
    objective=dict(type='InfoNCE', temperature=0.1, negatives=['own']),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
crop = dict(_base_.crop, crop_ratio_range=(0.08, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.simclr_steps]])
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
# LARS in mmpretrain's form: learning rate .3 for batch 256, 10 epochs of warm-up, cosine; biases and norms excluded.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='LARS', lr=0.3, momentum=0.9, weight_decay=1e-6),
    paramwise_cfg=dict(
        custom_keys={
            'bn': dict(decay_mult=0, lars_exclude=True),
            'bias': dict(decay_mult=0, lars_exclude=True),
            'downsample.1': dict(decay_mult=0, lars_exclude=True),
        }
    ),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=10, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
