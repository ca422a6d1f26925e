# BSIM on MoCo v1, ResNet-50 on ImageNet-1K: the query is a CutMix of two images, pulled to both.
_base_ = '../mocov1/r50_in1k.py'

model = dict(
    mixer=dict(type='CutMix', pairing='derangement', per_sample=False),
    streams=dict(mix1=dict(mix='view1')),
    terms=[('mix1', 'view2', 1.0)],
)
