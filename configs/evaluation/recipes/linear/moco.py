# The linear probe of MoCo v1 and v2: SGD without weight decay, rate 30 at batch 256, x.1 after 60 and 80 epochs.
# MixCo on TinyImageNet takes 3, not scaled with the batch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='moco', encoder='online', feature='pooled output')
views = 'bilinear'
model = dict(backbone=dict(backbone=dict(norm_cfg=dict(type='BN'))))
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=30.0, momentum=0.9, weight_decay=0.0),
    paramwise_cfg=dict(custom_keys={}),  # leaves out frozen parameters
)
param_scheduler = [dict(type='MultiStepLR', milestones=[60, 80], gamma=0.1, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=100, val_interval=1)
variants = [
    dict(data='in1k in100'),
    dict(data='digits', rate=3.0, batch=128, val_interval=10),
    dict(data='fashionmnist', rate=3.0, epochs=20, val_interval=5),
    dict(rate=3.0),
]
