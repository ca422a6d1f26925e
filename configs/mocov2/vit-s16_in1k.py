# MoCo v2, ViT-S/16 on ImageNet-1K with the recipe of MoCo v3 (SDMP, Table 1 quotes linear 72.7): a queue, no predictor.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    neck=dict(_delete_=True, type='PlainHead', hidden_channels=384, out_channels=128),
    predictor=None,
    target=dict(momentum=0.999, final_momentum=0.999),
    objective=dict(_delete_=True, type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
    memory=dict(queue=dict(size=65536, fed_by='view2')),
    terms=[('view1', 'view2', 1.0)],
)
