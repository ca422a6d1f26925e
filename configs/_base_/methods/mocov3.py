# MoCo v3 on ViT-S/16: two symmetric terms, loss times 2 x temperature, random frozen patch embedding.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=16,
        fixed_position=True,
        frozen_patch_embed=True,
    ),
    neck=dict(type='MLPHead', hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', hidden_channels=4096, num_layers=2),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=0.2, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
views = dict(
    all=dict(crop=(0.08, 1.0), interpolation='bilinear'),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
# AdamW; 1.5e-4 per 256 images; 40 epochs of warm-up, then cosine to 0; constant weight decay on all parameters.
optimizer = dict(type='AdamW', lr=1.5e-4, betas=(0.9, 0.999), weight_decay=0.1)
schedule = dict(type='MoCoV3CosineLR', epochs=300, warmup=40, final=0.0)
batch = 4096
