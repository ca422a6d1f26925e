# MoCo v3, ResNet-50 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = '../_base_/data/in1k.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', hidden_channels=4096, out_channels=256),
    predictor=dict(type='MLPHead', hidden_channels=4096, last_norm=False),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=1.0, temperature_scale=2),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear'),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
# LARS in MoCo v3's form: learning rate .3 per 256 images, batch 4096, 10 epochs of warm-up.
optimizer = dict(type='MoCoLARS', lr=0.3, momentum=0.9, weight_decay=1e-6)
schedule = dict(type='MoCoV3CosineLR', epochs=300, warmup=10)
batch = 4096
