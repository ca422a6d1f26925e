# SDMP on MoCo v3, extra version: two more views are mixed beside the two clean ones (Table 9).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(
    views=dict(view1=1, view2=1, view3=1, view4=1),
    swap_views=0.0,
    streams=dict(_delete_=True, mix3=dict(mix='view3'), mix4=dict(mix='view4')),
    terms=[
        ('view1', 'view2', 1.0),
        ('view2', 'view1', 1.0),
        ('mix4', 'view3', 1.0),
        ('mix4', 'mix3', 1.0),
    ],
)
views = dict(_base_.views, num_views=[1, 1, 1, 1], transforms=_base_.views.transforms * 2)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
