# SDMP on DINO, ViT-S/16 on ImageNet-1K, 300 epochs (Table 1: linear 76.4): four of eight local crops are mixed.
_base_ = ['../_base_/methods/dino.py', '../_base_/datasets/in1k.py']

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    views=dict(view1=1, view2=1, local=4, spare=4),
    streams=dict(local_mix=dict(mix='spare'), mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    joint=[('local', 'local_mix')],
    terms=[
        ('view1', 'view2', 0.1),
        ('view2', 'view1', 0.1),
        ('local', 'view1', 0.4),
        ('local', 'view2', 0.4),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
global_crop = dict(_base_.crop, crop_ratio_range=(0.4, 1.0))
local_crop = dict(_base_.crop, scale=96, crop_ratio_range=(0.05, 0.4))
views = dict(
    type='KeyedMultiView',
    num_views=[1, 1, 4, 4],
    transforms=[
        *[[global_crop, *steps] for steps in _base_.byol_steps],
        *[[local_crop, *_base_.local_steps] for _ in range(2)],
    ],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
custom_hooks = [*_base_.custom_hooks, *_base_.dino_hooks]
