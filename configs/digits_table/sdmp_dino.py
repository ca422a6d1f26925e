# SDMP on DINO: two of the four local crops are mixed (docs/digits_table.md).
_base_ = './dino.py'

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    views=dict(view1=1, view2=1, local=2, spare=2),
    streams=dict(local_mix=dict(mix='spare'), mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    joint=[('local', 'local_mix')],
    terms=[
        ('view1', 'view2', 1 / 6),
        ('view2', 'view1', 1 / 6),
        ('local', 'view1', 2 / 6),
        ('local', 'view2', 2 / 6),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
