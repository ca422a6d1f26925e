# SDMP on DINO with one local crop clean and one mixed, 100 epochs (Table 10: linear 70.9).
_base_ = './vit-s16_in1k_dino.py'

views = dict(_base_.views, num_views=[1, 1, 1, 1])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(local=1, spare=1),
    terms=[
        ('view1', 'view2', 1 / 4),
        ('view2', 'view1', 1 / 4),
        ('local', 'view1', 1 / 4),
        ('local', 'view2', 1 / 4),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
train_cfg = dict(max_epochs=100)
