# ImageNet-1K with its labels, RandAugment and random erasing after crop and flip.
_base_ = ['./in1k.py', '../randaugment.py']

training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=224,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation='bicubic',
    ),
    dict(type='RandomFlip', prob=0.5),
    _base_.randaugment,
    _base_.erasing,
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
