# ImageNet-1K as MoCo v3 crops it for ResNets: 20 % of the image and more.
_base_ = './in1k.py'

crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
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
