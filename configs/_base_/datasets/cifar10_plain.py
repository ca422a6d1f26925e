# CIFAR-10 with two equal views, without blur (i-mix, SDMP).
_base_ = './cifar10.py'

crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0), interpolation='bilinear')
training_pipeline = [
    dict(type='RGBToBGR'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[[crop, *_base_.cifar_photometric]]),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
