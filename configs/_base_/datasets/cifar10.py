# CIFAR-10 at 32 pixels.
_base_ = ['../views.py', '../loaders.py']

crop = dict(
    type='mmpretrain.RandomResizedCrop',
    scale=32,
    crop_ratio_range=(0.1, 1.0),
    backend='pillow',
    interpolation='bicubic',
)
training_pipeline = [
    dict(type='RGBToBGR'),
    dict(
        type='KeyedMultiView',
        num_views=[1, 1],
        transforms=[[crop, *photometric] for photometric in _base_.photometric_views],
    ),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [
    dict(type='RGBToBGR'),
    dict(type='mmpretrain.ResizeEdge', scale=36, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=32),
    dict(type='mmpretrain.PackInputs'),
]
images = dict(type='mmpretrain.CIFAR10', data_root='data/cifar10', download=False)

train_dataloader = dict(
    batch_size=512,
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=training_pipeline)),
)
val_dataloader = dict(dataset=dict(**images, split='test', pipeline=evaluation_pipeline))
val_cfg = dict(bank_dataloader=dict(dataset=dict(**images, split='train', pipeline=evaluation_pipeline)))
test_dataloader = val_dataloader
test_cfg = val_cfg
