# As two_views.py, and a quarter of the patches of each view, sampled to overlap little.
_base_ = './two_views.py'

crop = {**_base_.views[0][0], 'type': 'RecordedResizedCrop'}
training_pipeline = [
    _base_.enlarge,
    dict(
        type='SampledPatchPair',
        patch_size=4,
        ratio=0.25,
        power=3.0,
        transforms=[[crop, *view[1:]] for view in _base_.views],
    ),
    dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid']),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
train_cfg = dict(type='ChunkedPretrainLoop')
