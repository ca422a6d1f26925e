# scikit-learn's digits at 16 pixels with their labels. A flip would change what they show.
_base_ = '../loaders.py'

enlarge = dict(type='mmpretrain.ResizeEdge', scale=16, edge='short', backend='pillow', interpolation='bicubic')
training_pipeline = [
    enlarge,
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=16,
        crop_ratio_range=(0.5, 1.0),
        backend='pillow',
        interpolation='bicubic',
    ),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [enlarge, dict(type='mmpretrain.PackInputs')]

train_dataloader = dict(
    batch_size=128,
    num_workers=2,
    dataset=dict(type='KeyedDataset', dataset=dict(type='Digits', split='train', pipeline=training_pipeline)),
)
val_dataloader = dict(num_workers=2, dataset=dict(type='Digits', split='test', pipeline=evaluation_pipeline))
test_dataloader = val_dataloader

data_preprocessor = dict(num_classes=10, mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
