# MoCo v2, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 67.5).
_base_ = '../_base_/data/in1k.py'

# A queue of 65,536 keys; batch statistics are of one process; keys are shuffled among processes.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN'), zero_init_residual=False),
    neck=dict(type='PlainHead', hidden_channels=2048, out_channels=128),
    target=dict(type='ShuffledEMA', momentum=0.999, final_momentum=0.999),
    objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['jitter_strong', 'gray', 'blur_half', 'flip']),
    view1=dict(),
    view2=dict(),
)
# SGD as MoCo v2 trains ResNets: learning rate .03 for batch 256, cosine per epoch to 0, no warm-up.
optimizer = dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4)
schedule = dict(epochs=200, per='epoch')
batch = 256
at_once = 32
