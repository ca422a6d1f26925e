# i-mix on MoCo v3: mixed queries, clean keys (docs/digits_table.md).
_base_ = './mocov3.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Beta', folded=True)),
    shared_plan=False,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
