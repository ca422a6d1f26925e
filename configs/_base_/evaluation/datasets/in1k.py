# ImageNet-1K with its labels: crops of 224 pixels and flips to train on, one centre crop to test on.
_base_ = '../loaders.py'

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
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [
    dict(type='LoadImage'),
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    dict(type='mmpretrain.PackInputs'),
]
images = dict(type='ImageNet1K', data_root='data/imagenet')

train_dataloader = dict(
    batch_size=128,  # per process: 1024 on 8 GPUs
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=training_pipeline)),
)
# KeyedDataset for the evaluation too, so that an unreadable image does not end it.
val_dataloader = dict(
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='val', pipeline=evaluation_pipeline))
)
test_dataloader = val_dataloader
