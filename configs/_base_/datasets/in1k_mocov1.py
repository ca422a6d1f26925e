# ImageNet-1K with the views of MoCo v1.
_base_ = './in1k.py'

crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
training_pipeline = [
    dict(type='LoadImage'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.mocov1_photometric]]),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
