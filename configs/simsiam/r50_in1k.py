# SimSiam, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 70.0).
_base_ = '../_base_/data/in1k.py'

# No momentum encoder, no negatives; each term is half of the symmetric loss.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm'), zero_init_residual=True
    ),
    neck=dict(type='MLPHead', hidden_channels=2048, out_channels=2048, num_layers=3),
    predictor=dict(type='MLPHead', hidden_channels=512, last_norm=False, last_bias=True),
    target=dict(type='StopGrad'),
    objective=dict(type='NegativeCosine', scale=1.0),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
views = dict(
    all=dict(crop=(0.2, 1.0), interpolation='bilinear', steps=['jitter_strong', 'gray', 'blur_half', 'flip']),
    view1=dict(),
    view2=dict(),
)
# SGD for SimSiam: .05 for batch 256, lowered on a cosine after every epoch; the predictor keeps its learning rate.
optimizer = dict(type='SGD', lr=0.05, momentum=0.9, weight_decay=1e-4)
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'predictor': {'fix_lr': True}}))
schedule = dict(epochs=200, per='epoch')
batch = 256
at_once = 32
