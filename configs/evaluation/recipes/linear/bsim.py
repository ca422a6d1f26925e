# BSIM's probe of five depths of ResNet-50 at once (OpenSelfSup; BSIM, Table 2, feat1 to feat5): Nesterov SGD, .01 at
# batch 256, 90 epochs, x.1 after 30 and 60.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='bsim', encoder='online', feature='five depths, pooled to about 9000')
views = 'jitter'
model = dict(
    backbone=dict(backbone=dict(norm_cfg=dict(type='BN')), feature=dict(type='PooledStages')),
    head=dict(
        _delete_=True,
        type='StageProbes',
        num_classes=1000,
        in_channels=(9216, 9216, 8192, 9216, 8192),
        map_channels=(64, 256, 512, 1024, 2048),
    ),
)
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4),
    paramwise_cfg=dict(custom_keys={}),  # leaves out frozen parameters
)
param_scheduler = [dict(type='MultiStepLR', milestones=[30, 60, 90], gamma=0.1, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=90, val_interval=1)
val_evaluator = dict(_delete_=True, type='StageAccuracy', topk=(1, 5))
test_evaluator = val_evaluator
