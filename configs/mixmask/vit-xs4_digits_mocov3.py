# MixMask on MoCo v3, as Un-Mix' rows; a grid of 4x4 cells, which are the patches of the small ViT.
_base_ = '../mocov3/vit-xs4_digits.py'

model = dict(
    mixer=dict(type='MixMask', grid=4),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0), ('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
