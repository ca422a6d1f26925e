# MoCo v2 on ResNet-50: a queue of 65,536 keys, batch statistics of one process, shuffled for the keys.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', in_channels=2048, hidden_channels=2048, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999),
    objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, channels=128, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
