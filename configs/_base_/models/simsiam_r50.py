# SimSiam on ResNet-50: no momentum, no negatives; the halves of the symmetric loss.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=2048, out_channels=2048, num_layers=3),
    predictor=dict(
        type='MLPHead', in_channels=2048, hidden_channels=512, out_channels=2048, last_norm=False, last_bias=True
    ),
    target=dict(type='StopGrad'),
    objective=dict(type='NegativeCosine', scale=1.0),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
