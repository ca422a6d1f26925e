# ImageNet-1K with the views of MoCo v2, for two equal views.
_base_ = './in1k.py'

crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
training_pipeline = [
    dict(type='LoadImage'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov2_photometric]]),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
