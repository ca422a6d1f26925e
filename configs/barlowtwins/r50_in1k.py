# Barlow Twins, ResNet-50 on ImageNet-1K: batch 1024, 300 epochs (linear 71.3), as the host of mixed Barlow Twins.
_base_ = '../_base_/data/in1k.py'

norm = dict(type='mixcl.SyncBatchNorm')
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=norm, zero_init_residual=True),
    neck=dict(type='MLPHead', hidden_channels=8192, out_channels=8192, num_layers=3, last_norm=False),
    target=dict(type='Shared'),
    objective=dict(type='CrossCorrelation', off_diagonal=0.0051),
    terms=[('view1', 'view2', 1.0)],
)
views = dict(
    all=dict(crop=(0.08, 1.0)),
    view1=dict(steps=['flip', 'jitter_mild', 'gray', 'blur']),
    view2=dict(steps=['flip', 'jitter_mild', 'gray', 'blur_rarely', 'solarize']),
)
# LARS, .2 for batch 256 and .0048 for biases and norms, which neither decay nor adapt; 10 epochs of warm-up, cosine.
optimizer = dict(type='LARS', lr=0.2, momentum=0.9, weight_decay=1e-6)
spared = dict(decay_mult=0, lars_exclude=True, lr_mult=0.024)
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'bn': spared, 'bias': spared, 'downsample.1': spared}))
schedule = dict(epochs=300, warmup=10)
batch = 1024
