# Barlow Twins, ResNet-18 on CIFAR-10, as the host of mixed Barlow Twins: batch 256, 2,000 epochs.
_base_ = '../_base_/data/cifar10.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet_CIFAR', depth=18, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(type='MLPHead', hidden_channels=512, out_channels=1024, last_norm=False, last_bias=True),
    target=dict(type='Shared'),
    objective=dict(type='CrossCorrelation', off_diagonal=1 / 128),
    terms=[('view1', 'view2', 1.0)],
)
views = dict(
    all=dict(crop=(0.08, 1.0), interpolation='bilinear', steps=['flip', 'jitter_strong', 'gray']),
    view1=dict(),
    view2=dict(),
)
# Adam with L2 regularisation, .01 for batch 256; 10 epochs of warm-up, cosine to a thousandth.
optimizer = dict(type='Adam', lr=1e-2, weight_decay=1e-6)
schedule = dict(epochs=2000, warmup=10, final=1e-5)
batch = 256
