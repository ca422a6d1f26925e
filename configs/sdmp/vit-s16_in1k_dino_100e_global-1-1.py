# SDMP on DINO with one global crop clean and one mixed, none local, 100 epochs (Table 10: linear 64.1).
_base_ = './vit-s16_in1k_dino.py'

views = dict(_base_.views, num_views=[1, 1], transforms=_base_.views.transforms[:2])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(_delete_=True, view1=1, view2=1),
    streams=dict(_delete_=True, mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    joint=[],
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
train_cfg = dict(max_epochs=100)
