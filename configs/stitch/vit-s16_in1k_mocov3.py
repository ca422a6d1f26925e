# Grids of four reduced images on MoCo v3, with the rows of SDMP: a mixture is pulled to its images and to mixtures.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    mixer=dict(type='Stitch', side=2),
    swap_views=0.5,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
