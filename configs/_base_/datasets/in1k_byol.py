# ImageNet-1K with the views of BYOL.
_base_ = './in1k.py'

crop = dict(_base_.crop, crop_ratio_range=(0.08, 1.0))
training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='KeyedMultiView',
        num_views=[1, 1],
        transforms=[[crop, *photometric] for photometric in _base_.photometric_views],
    ),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
