# BYOL on ResNet-50: two symmetric terms of -2 cos.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(
        type='MLPHead',
        in_channels=2048,
        hidden_channels=4096,
        out_channels=256,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    predictor=dict(
        type='MLPHead',
        in_channels=256,
        hidden_channels=4096,
        out_channels=256,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='NegativeCosine', scale=2.0),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
