# MoCo v3 on ViT-S/16: two symmetric terms, loss times 2 x temperature, random frozen patch embedding.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        fixed_position=True,
        frozen_patch_embed=True,
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, num_layers=2),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=0.2, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
# AdamW; 1.5e-4 per 256 images; 40 epochs of warm-up, then cosine to 0; constant weight decay on all parameters.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=2.4e-3, betas=(0.9, 0.999), weight_decay=0.1),
    paramwise_cfg=dict(custom_keys={}),
)
param_scheduler = [dict(type='MoCoV3CosineLR', warmup=40, final=0.0, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='PretrainLoop', max_epochs=300, val_interval=10)
