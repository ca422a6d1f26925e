# CIFAR-10 with its labels, shifted, flipped, RandAugment and random erasing; tested on the images as they are.
_base_ = ['./cifar10.py', '../randaugment.py']

training_pipeline = [
    dict(type='RGBToBGR'),
    dict(type='mmpretrain.RandomCrop', crop_size=32, padding=4),
    dict(type='RandomFlip', prob=0.5),
    _base_.randaugment,
    _base_.erasing,
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [dict(type='RGBToBGR'), dict(type='mmpretrain.PackInputs')]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
val_dataloader = dict(dataset=dict(pipeline=evaluation_pipeline))
test_dataloader = val_dataloader
