# ImageNet-1K, two crops of 224 pixels and eight of 96, as in the PatchMix authors' released configs.
_base_ = './in1k.py'

global_crop = dict(_base_.crop, crop_ratio_range=(0.35, 1.0))
local_crop = dict(_base_.crop, scale=96, crop_ratio_range=(0.05, 0.35))
training_pipeline = [
    dict(type='LoadImage'),
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
