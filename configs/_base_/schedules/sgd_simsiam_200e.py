# SGD for SimSiam: .05 for batch 256, cosine per step; the predictor keeps its learning rate.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.05, momentum=0.9, weight_decay=1e-4),
    paramwise_cfg=dict(custom_keys={'predictor': dict(fix_lr=True)}),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
