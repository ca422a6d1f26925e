# Your own images: any formats, nested folders, no labels. 224 pixels.
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
train_dataloader = dict(
    batch_size=128,  # on one process
    dataset=dict(
        type='KeyedDataset', dataset=dict(type='ImageFolder', data_root='data/folder', pipeline=training_pipeline)
    ),
)

# Without labels there is nothing to measure kNN accuracy against.
val_dataloader = None
val_cfg = None
val_evaluator = None
test_dataloader = None
test_cfg = None
test_evaluator = None
