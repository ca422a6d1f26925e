# BYOL, ResNet-50 on ImageNet-1K: batch 4096 by accumulating 16 of 8 x 32, 200 epochs (BSIM, Table 2: 69.1).
_base_ = '../_base_/data/in1k.py'

# Two symmetric terms of -2 cos.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(
        type='MLPHead',
        hidden_channels=4096,
        out_channels=256,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    predictor=dict(
        type='MLPHead',
        hidden_channels=4096,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='NegativeCosine', scale=2.0),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
views = dict(
    all=dict(crop=(0.08, 1.0)),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
# LARS in mmpretrain's form: learning rate 4.8 for batch 4096, 10 epochs of warm-up, cosine; biases and norms excluded.
optimizer = dict(type='LARS', lr=0.3, momentum=0.9, weight_decay=1e-6)
spared = dict(decay_mult=0, lars_exclude=True)
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'bn': spared, 'bias': spared, 'downsample.1': spared}))
schedule = dict(epochs=200, warmup=10)
batch = 4096
at_once = 32
accumulate = True
