# scikit-learn's digits at 16 pixels: small enough for a laptop. Flips, hue and blur would change what they show.
_base_ = '../pretraining.py'

views = [
    [
        dict(
            type='mmpretrain.RandomResizedCrop',
            scale=16,
            crop_ratio_range=(0.5, 1.0),
            backend='pillow',
            interpolation='bicubic',
        ),
        dict(
            type='RandomApply',
            prob=0.8,
            transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, backend='pillow'),
        ),
        dict(type='mmpretrain.Solarize', thr=128, prob=solarize),
    ]
    for solarize in (0.0, 0.2)
]
enlarge = dict(type='mmpretrain.ResizeEdge', scale=16, edge='short', backend='pillow', interpolation='bicubic')
training_pipeline = [
    enlarge,  # before the crop, which would otherwise cut the 8x8 images at whole pixels
    dict(type='KeyedMultiView', num_views=[1, 1], transforms=views),
    dict(type='mmpretrain.PackInputs'),
]
evaluation_pipeline = [enlarge, dict(type='mmpretrain.PackInputs')]

train_dataloader = dict(
    batch_size=128,
    num_workers=2,
    dataset=dict(type='KeyedDataset', dataset=dict(type='Digits', split='train', pipeline=training_pipeline)),
)
val_dataloader = dict(num_workers=2, dataset=dict(type='Digits', split='test', pipeline=evaluation_pipeline))
val_cfg = dict(
    bank_dataloader=dict(num_workers=2, dataset=dict(type='Digits', split='train', pipeline=evaluation_pipeline))
)
test_dataloader = val_dataloader
test_cfg = val_cfg

data_preprocessor = dict(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
