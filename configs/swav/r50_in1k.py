# SwAV, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs, six local crops and a queue.
_base_ = '../_base_/data/in1k.py'

# All pairs (code of a view, other crop) weigh the same; all crops of one size share batch statistics.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(
        type='MLPHead',
        hidden_channels=2048,
        out_channels=128,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(type='StopGrad'),
    objective=dict(type='SwAV', num_prototypes=3000, queue_from=15),
    memory=dict(
        queue1=dict(size=3840, fed_by='view1'),
        queue2=dict(size=3840, fed_by='view2'),
    ),
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
    joint=[('view1', 'view2', 'local')],
)
views = dict(
    all=dict(crop=(0.14, 1.0), interpolation='bilinear', steps=['flip', 'jitter_very_strong', 'gray', 'blur_half']),
    view1=dict(),
    view2=dict(),
    local=dict(crops=6, size=96, crop=(0.05, 0.14)),
)
# LARS on all parameters, .6 for batch 256, cosine without warm-up (as the authors for this batch, and mmpretrain).
optimizer = dict(type='LARS', lr=0.6, momentum=0.9, weight_decay=1e-6)
schedule = dict(epochs=200, final=6e-4)
batch = 256
at_once = 32
hooks = dict(prototypes=dict(type='FrozenPrototypesHook', epochs=1))
