# Un-Mix on MoCo v3: Mixup or CutMix with the reversed batch, one share per batch (docs/digits_table.md).
_base_ = './mocov3.py'

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
