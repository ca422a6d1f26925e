# Un-Mix on MoCo v3, ViT-S/16 on ImageNet-1K: Mixup or CutMix with the reversed batch, one share per batch.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup', per_sample=False), dict(type='CutMix', per_sample=False)]),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[
        ('view1', 'view2', 1.0),
        ('view2', 'view1', 1.0),
        ('mix1', 'view2', 1.0),
        ('mix2', 'view1', 1.0),
    ],
)
