# MoCo v1, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.0).
_base_ = '../_base_/data/in1k.py'

# As MoCo v2, but with a linear head and temperature .07.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', hidden_channels=None, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999),
    objective=dict(type='InfoNCE', temperature=0.07, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['gray', 'jitter_always_strong_hue', 'flip']),
    view1=dict(),
    view2=dict(),
)
# SGD: learning rate .03 for batch 256, a tenth after 120 and after 160 epochs.
optimizer = dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4)
schedule = dict(type='MultiStepLR', epochs=200, milestones=[120, 160], gamma=0.1, per='epoch')
batch = 256
at_once = 32
