# LARS in mmpretrain's form: learning rate .3 for batch 256, 10 epochs of warm-up, cosine; biases and norms excluded.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='mmpretrain.LARS', lr=0.3, momentum=0.9, weight_decay=1e-6),
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
