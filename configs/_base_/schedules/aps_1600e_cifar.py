# APS on CIFAR: AdamW, 5e-4 per 256 images, weight decay .05 on everything, 20 epochs of warm-up, per epoch.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=1e-3, betas=(0.9, 0.999), weight_decay=0.05),
)
param_scheduler = [dict(type='CutWarmupCosineLR', warmup=20, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(type='ChunkedPretrainLoop', max_epochs=1600, val_interval=20)
