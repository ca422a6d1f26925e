# DINO with 2 local crops, 100 epochs (SDMP, Table 10: linear 71.5).
_base_ = './vit-s16_in1k.py'

views = dict(_base_.views, num_views=[1, 1, 2])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(local=2),
    terms=[
        ('view1', 'view2', 1 / 6),
        ('view2', 'view1', 1 / 6),
        ('local', 'view1', 2 / 6),
        ('local', 'view2', 2 / 6),
    ],
)
train_cfg = dict(max_epochs=100)
