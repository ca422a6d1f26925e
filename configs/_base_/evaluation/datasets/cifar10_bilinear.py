# CIFAR-10 with its labels, resized as torchvision does by default; tested on the images as they are (MoCo v3, SDMP).
_base_ = './cifar10.py'

training_pipeline = [
    dict(type='RGBToBGR'),
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=32,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation='bilinear',
    ),
    dict(type='RandomFlip', prob=0.5),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [dict(type='RGBToBGR'), dict(type='mmpretrain.PackInputs')]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
val_dataloader = dict(dataset=dict(pipeline=evaluation_pipeline))
test_dataloader = val_dataloader
