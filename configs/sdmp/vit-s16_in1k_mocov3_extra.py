# SDMP on MoCo v3, extra version: two more views are mixed beside the two clean ones (Table 9).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(
    swap_views=0.0,
    streams=dict(_delete_=True, mix3=dict(mix='view3'), mix4=dict(mix='view4')),
    terms=[
        ('view1', 'view2', 1.0),
        ('view2', 'view1', 1.0),
        ('mix4', 'view3', 1.0),
        ('mix4', 'mix3', 1.0),
    ],
)
views = dict(view3=_base_.views.view1, view4=_base_.views.view2)
