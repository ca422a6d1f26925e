# BSIM on BYOL: the query is a CutMix of two images, pulled to both (docs/digits_table.md).
_base_ = './byol.py'

model = dict(
    mixer=dict(type='CutMix', pairing='derangement', per_sample=False),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
