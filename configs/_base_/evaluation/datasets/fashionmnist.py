# Fashion-MNIST at 28 pixels with its labels: crops and flips to train on, one centre crop to test on.
_base_ = '../loaders.py'

training_pipeline = [
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=28,
        crop_ratio_range=(0.3, 1.0),
        backend='pillow',
        interpolation='bicubic',
    ),
    dict(type='RandomFlip', prob=0.5),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [
    dict(type='mmpretrain.ResizeEdge', scale=32, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=28),
    dict(type='mmpretrain.PackInputs'),
]
images = dict(type='FashionMNIST', data_root=None)  # None: the Debian package's folder, else data/fashionmnist

train_dataloader = dict(
    batch_size=256,
    num_workers=2,
    dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train', pipeline=training_pipeline)),
)
val_dataloader = dict(num_workers=2, dataset=dict(**images, split='test', pipeline=evaluation_pipeline))
test_dataloader = val_dataloader

data_preprocessor = dict(num_classes=10, mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
