# ImageNet-1K at 224 pixels.
_base_ = ['../views.py', '../loaders.py']

crop = dict(
    type='mmpretrain.RandomResizedCrop',
    scale=224,
    crop_ratio_range=(0.05, 1.0),
    backend='pillow',
    interpolation='bicubic',
)
training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='KeyedMultiView',
        num_views=[1, 1],
        transforms=[[crop, *photometric] for photometric in _base_.photometric_views],
    ),
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
val_cfg = dict(
    bank_dataloader=dict(
        dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=evaluation_pipeline))
    )
)
test_dataloader = val_dataloader
test_cfg = val_cfg
