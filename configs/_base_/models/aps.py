# APS on ViT-S/16 for ImageNet: momentum keys, MoCo v3's heads, fixed positions, loss times the temperature.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        fixed_position=True,
        frozen_patch_embed=True,  # "random" in the paper, read as in MoCo v3
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, num_layers=2),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=0.1, temperature_scale=1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
