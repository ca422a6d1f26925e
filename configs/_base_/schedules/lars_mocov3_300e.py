# LARS in MoCo v3's form: learning rate .3 per 256 images, batch 4096, 10 epochs of warm-up.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='MoCoLARS', lr=4.8, momentum=0.9, weight_decay=1e-6),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=10, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='PretrainLoop', max_epochs=300, val_interval=10)
