# DINO with 6 local crops, 100 epochs (SDMP, Table 10: linear 73.8).
_base_ = './vit-s16_in1k.py'

views = dict(_base_.views, num_views=[1, 1, 6])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(local=6),
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
)
train_cfg = dict(max_epochs=100)
