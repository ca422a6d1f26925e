# MixMask on MoCo v2, ResNet-50 on ImageNet-1K, 200 epochs (linear 69.2; MoCo v2 67.7): blocks of a grid of 8x8 cells.
_base_ = '../mocov2/r50_in1k.py'

model = dict(
    mixer=dict(type='MixMask', grid=8),
    streams=dict(mix1=dict(mix='view1')),
    terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 1.0)],
)
