# SimSiam's linear probe: LARS without weight decay, .1 per 256 images, batch 4096, 90 epochs, cosine per epoch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='simsiam', encoder='online', feature='pooled output')
views = 'bilinear'
model = dict(backbone=dict(backbone=dict(norm_cfg=dict(type='BN'))))
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='LARS', lr=1.6, momentum=0.9, weight_decay=0.0),
    paramwise_cfg=dict(custom_keys={}),  # leaves out frozen parameters
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=90, val_interval=1)
