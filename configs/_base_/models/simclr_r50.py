# SimCLR on ResNet-50: NT-Xent over both views of all processes, gradient through the keys.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', in_channels=2048, hidden_channels=2048, out_channels=128, last_affine=True, bias=True),
    target=dict(type='Shared'),
    objective=dict(type='InfoNCE', temperature=0.1, negatives=['own']),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
