# As two_views.py, and four local crops of 8 pixels; larger parts of the image than on photographs, to show strokes.
_base_ = './two_views.py'

local_view = [
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=8,
        crop_ratio_range=(0.2, 0.5),
        backend='pillow',
        interpolation='bicubic',
    ),
    *_base_.views[0][1:],
]
training_pipeline = [
    _base_.enlarge,
    dict(type='KeyedMultiView', num_views=[1, 1, 4], transforms=[*_base_.views, local_view]),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
