# DINO on ViT-S/16 with two global and eight local crops; all pairs (teacher, other student view) weigh the same.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='DINOViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        drop_path_rate=0.1,
    ),
    neck=dict(type='DINOHead', in_channels=384, out_channels=65536),
    target=dict(type='EMA', momentum=0.996),
    objective=dict(type='DINODistillation', num_prototypes=65536, centred_by=('view1', 'view2'), warmup_epochs=30),
    views=dict(view1=1, view2=1, local=8),
    terms=[
        ('view1', 'view2', 1 / 18),
        ('view2', 'view1', 1 / 18),
        ('local', 'view1', 8 / 18),
        ('local', 'view2', 8 / 18),
    ],
)
# AdamW: 5e-4 per 256 images, 10 epochs of warm-up; weight decay rises on a cosine.
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
# Beside the hooks of all pretraining: frozen prototypes in the first epoch, each parameter's gradient clipped at 3.
dino_hooks = [dict(type='FrozenPrototypesHook', epochs=1), dict(type='ParameterClipHook', max_norm=3.0)]
