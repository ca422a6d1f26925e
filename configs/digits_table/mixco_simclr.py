# MixCo on SimCLR: both views are mixed in halves, each with shares of its own (docs/digits_table.md).
_base_ = './simclr.py'

model = dict(
    mixer=dict(type='Mixup', pairing='halves', share=dict(type='Uniform')),
    shared_plan=False,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[
        ('view1', 'view2', 0.5),
        ('view2', 'view1', 0.5),
        ('mix1', 'view2', 0.5, dict(negatives=[])),
        ('mix2', 'view1', 0.5, dict(negatives=[])),
    ],
)
