# CIFAR-10 with a quarter of the patches of each view, sampled to overlap little (APS).
_base_ = './cifar10.py'

crop = dict(
    type='RecordedResizedCrop',
    scale=32,
    crop_ratio_range=(0.15, 1.0),
    backend='pillow',
    interpolation='bilinear',
)
training_pipeline = [
    dict(type='RGBToBGR'),
    dict(
        type='SampledPatchPair', patch_size=2, ratio=0.25, power=3.0, transforms=[[crop, *_base_.cifar_photometric]] * 2
    ),
    dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid']),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
data_preprocessor = dict(mean=[125.307, 122.961, 113.8575], std=[51.5865, 50.847, 51.255])  # CIFAR's own
