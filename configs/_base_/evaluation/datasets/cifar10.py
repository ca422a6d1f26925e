# CIFAR-10 with its labels: crops of 32 pixels and flips to train on, one centre crop to test on.
_base_ = '../loaders.py'

training_pipeline = [
    dict(type='RGBToBGR'),
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=32,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation='bicubic',
    ),
    dict(type='RandomFlip', prob=0.5),
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
    batch_size=256,
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=training_pipeline)),
)
val_dataloader = dict(dataset=dict(**images, split='test', pipeline=evaluation_pipeline))
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=10)
