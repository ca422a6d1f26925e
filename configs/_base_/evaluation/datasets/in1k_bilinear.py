# ImageNet-1K with its labels, resized as torchvision does by default (MoCo v3, SDMP, MixCo, BSIM, SimSiam).
_base_ = './in1k.py'

training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=224,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation='bilinear',
    ),
    dict(type='RandomFlip', prob=0.5),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [
    dict(type='LoadImage'),
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bilinear'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
val_dataloader = dict(dataset=dict(dataset=dict(pipeline=evaluation_pipeline)))
test_dataloader = val_dataloader
