# MoCo v2, ResNet-18 on TinyImageNet: batch 128, 100 epochs, learning rate .015 (the host of MixCo).
_base_ = '../_base_/data/tinyimagenet.py'

# The keys' batch statistics are of two groups, as on two GPUs.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=18, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', hidden_channels=512, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999, groups=2),
    objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['jitter_strong', 'gray', 'blur_half', 'flip']),
    view1=dict(),
    view2=dict(),
)
# SGD as MoCo v2 trains ResNets: learning rate .015 for batch 128, cosine per epoch to 0, no warm-up.
optimizer = dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4)
schedule = dict(epochs=100, per='epoch')
batch = 128
