# BSIM on SimCLR, ResNet-50 on ImageNet-1K: the query is a CutMix of two images, pulled to both.
_base_ = '../simclr/r50_in1k.py'

model = dict(
    mixer=dict(type='CutMix', pairing='derangement', per_sample=False),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'view2', 0.5), ('mix2', 'view1', 0.5)],
)
