# MixMask on MoCo v3 (in no paper), as Un-Mix' rows; a grid of 7x7 cells, each of 2x2 patches.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    mixer=dict(type='MixMask', grid=7),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0), ('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
