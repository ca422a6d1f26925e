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
