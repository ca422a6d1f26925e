# AdamW; learning rate 5e-4 per 256 images; warm-up from 0, then cosine to 1e-6; weight decay rises on a cosine.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=2e-3, betas=(0.9, 0.999), weight_decay=0.04),
    paramwise_cfg=dict(flat_decay_mult=0.0),
)
param_scheduler = [
    dict(type='WarmupCosineLR', warmup=10, final=1e-6, by_epoch=True, convert_to_iter_based=True),
    dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=10, by_epoch=True, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=1024)
train_cfg = dict(type='PretrainLoop', max_epochs=300, val_interval=10)
