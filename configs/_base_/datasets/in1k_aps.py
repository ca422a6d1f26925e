# ImageNet-1K with a quarter of the patches of each view, sampled to overlap little (APS).
_base_ = './in1k.py'

crop = dict(
    type='RecordedResizedCrop',
    scale=224,
    crop_ratio_range=(0.08, 1.0),
    backend='pillow',
    interpolation='bilinear',
)
training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='SampledPatchPair',
        patch_size=16,
        ratio=0.25,
        power=3.0,
        transforms=[[crop, *photometric] for photometric in _base_.photometric_views],
    ),
    dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid']),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
