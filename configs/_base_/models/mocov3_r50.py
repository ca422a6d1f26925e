# MoCo v3 on ResNet-50: two-layer heads, no normalisation after the predictor, temperature 1.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=4096, out_channels=256),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, last_norm=False),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=1.0, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
