# BSIM on MoCo v2: the query is a CutMix of two images, pulled to both (docs/digits_table.md).
_base_ = './mocov2.py'

model = dict(
    mixer=dict(type='CutMix', pairing='derangement', per_sample=False),
    streams=dict(mix1=dict(mix='view1')),
    terms=[('mix1', 'view2', 1.0)],
)
