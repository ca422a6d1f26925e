# CIFAR-10 with two global crops of 32 pixels and eight local ones of 14 (DINO).
_base_ = './cifar10.py'

global_crop = dict(_base_.crop, crop_ratio_range=(0.4, 1.0))
local_crop = dict(_base_.crop, scale=14, crop_ratio_range=(0.05, 0.4))
training_pipeline = [
    dict(type='RGBToBGR'),
    dict(
        type='KeyedMultiView',
        num_views=[1, 1, 8],
        transforms=[
            *[[global_crop, *photometric] for photometric in _base_.photometric_views],
            [local_crop, *_base_.local_photometric],
        ],
    ),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
