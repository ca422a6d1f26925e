# SimCLR, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.6).
_base_ = '../_base_/data/in1k.py'

# NT-Xent over both views of all processes, gradient through the keys.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', hidden_channels=2048, out_channels=128, last_affine=True, bias=True),
    target=dict(type='Shared'),
    objective=dict(type='InfoNCE', temperature=0.1, negatives=['own']),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
views = dict(
    all=dict(crop=(0.08, 1.0), interpolation='bilinear', steps=['flip', 'jitter_very_strong', 'gray', 'blur_half']),
    view1=dict(),
    view2=dict(),
)
# LARS in mmpretrain's form: learning rate .3 for batch 256, 10 epochs of warm-up, cosine; biases and norms excluded.
optimizer = dict(type='LARS', lr=0.3, momentum=0.9, weight_decay=1e-6)
spared = dict(decay_mult=0, lars_exclude=True)
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'bn': spared, 'bias': spared, 'downsample.1': spared}))
schedule = dict(epochs=200, warmup=10)
batch = 256
at_once = 32
