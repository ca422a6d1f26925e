# SimCLR, ResNet-18 on TinyImageNet: batch 128, 100 epochs, SGD (the host of MixCo).
_base_ = '../_base_/data/tinyimagenet.py'

model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=18, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=False
    ),
    neck=dict(type='PlainHead', hidden_channels=512, out_channels=128),
    target=dict(type='Shared'),
    # The authors contrast within a process.
    objective=dict(type='InfoNCE', temperature=0.5, negatives=['own'], gather=False),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['flip', 'jitter_very_strong', 'gray', 'blur_half']),
    view1=dict(),
    view2=dict(),
)
optimizer = dict(type='SGD', lr=0.3, momentum=0.9, weight_decay=1e-6)
# Constant for 11 epochs, then a cosine that would end after 100 more: the last epoch is at 3 % (the authors' code).
schedule = dict(type='CosineAnnealingLR', epochs=100, T_max=100, begin=10, end=110, per='epoch')
batch = 128
