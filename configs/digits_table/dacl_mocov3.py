# DACL on MoCo v3: Mixup as noise, the target stays with the owner (docs/digits_table.md).
_base_ = './mocov3.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Uniform', low=0.9, high=1.0)),
    shared_plan=False,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'mix2', 1.0, dict(target='owner')), ('mix2', 'mix1', 1.0, dict(target='owner'))],
)
