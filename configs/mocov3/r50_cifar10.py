# MoCo v3, ResNet-50 on CIFAR-10: batch 256, 200 epochs. SDMP (Table 5) gives no recipe: the schedule is i-mix'.
_base_ = '../_base_/data/cifar10.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet_CIFAR', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', hidden_channels=4096, out_channels=256),
    predictor=dict(type='MLPHead', hidden_channels=4096, last_norm=False),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=1.0, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['flip', 'jitter_strong', 'gray']),
    view1=dict(),
    view2=dict(),
)
# SGD, learning rate .125 for batch 256, cosine to 0 after 5 epochs of warm-up, 10 in runs of more than 500 epochs.
optimizer = dict(type='SGD', lr=0.125, momentum=0.9, weight_decay=1e-4)
schedule = dict(epochs=200, warmup=5)
batch = 256
