# MoCo v3's linear probe: SGD without weight decay, 3 per 256 images (ViT), batch 1024, 90 epochs, cosine per epoch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='mocov3', encoder='online', feature='class token')
views = 'bilinear'
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=12.0, momentum=0.9, weight_decay=0.0),
    paramwise_cfg=dict(custom_keys={}),  # leaves out frozen parameters
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=1024)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=90, val_interval=1)
