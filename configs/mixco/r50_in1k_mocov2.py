# MixCo on MoCo v2, ResNet-50 on ImageNet-1K, 200 epochs: the mixtures have temperature 1.
_base_ = '../mocov2/r50_in1k.py'

model = dict(
    mixer=dict(type='Mixup', pairing='halves', share=dict(type='Uniform')),
    streams=dict(mix1=dict(mix='view1')),
    joint=[('view1', 'mix1')],
    terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 1.0, dict(temperature=1.0, among='batch'))],
)
