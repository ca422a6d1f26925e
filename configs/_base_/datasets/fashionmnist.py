# Fashion-MNIST at 28 pixels. The images are grey and small, so no step changes colours or blurs.
_base_ = '../pretraining.py'

views = [
    [
        dict(
            type='mmpretrain.RandomResizedCrop',
            scale=28,
            crop_ratio_range=(0.3, 1.0),
            backend='pillow',
            interpolation='bicubic',
        ),
        dict(
            type='RandomApply',
            prob=0.8,
            transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, backend='pillow'),
        ),
        dict(type='mmpretrain.Solarize', thr=128, prob=solarize),
        dict(type='RandomFlip', prob=0.5),
    ]
    for solarize in (0.0, 0.2)
]
training_pipeline = [
    dict(type='KeyedMultiView', num_views=[1, 1], transforms=views),
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
val_cfg = dict(bank_dataloader=dict(num_workers=2, dataset=dict(**images, split='train', pipeline=evaluation_pipeline)))
test_dataloader = val_dataloader
test_cfg = val_cfg

data_preprocessor = dict(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
