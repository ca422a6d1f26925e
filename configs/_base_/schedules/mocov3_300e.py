# AdamW; learning rate 1.5e-4 per 256 images; 40 epochs of warm-up, then cosine to 0; constant weight decay on all.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=2.4e-3, betas=(0.9, 0.999), weight_decay=0.1),
    paramwise_cfg=dict(custom_keys={}),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=40, final=0.0, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='PretrainLoop', max_epochs=300, val_interval=10)
