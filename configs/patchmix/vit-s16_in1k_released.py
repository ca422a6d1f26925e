# PatchMix as the authors' released configs: two images per mixture, smoothing .1 on the origin terms, 8 local crops of
# 96 pixels (clean and mixed) beside global crops of .35 to 1 of the image, momentum constant within an epoch.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/in1k.py']

global_crop = dict(_base_.crop, crop_ratio_range=(0.35, 1.0))
local_crop = dict(_base_.crop, scale=96, crop_ratio_range=(0.05, 0.35))
views = dict(
    type='KeyedMultiView',
    num_views=[1, 1, 8],
    transforms=[*[[global_crop, *steps] for steps in _base_.byol_steps], [local_crop, *_base_.local_steps]],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    target=dict(type='EpochwiseEMA'),
    mixer=dict(num_mix=2),
    views=dict(view1=1, view2=1, local=8),
    streams=dict(local_mix=dict(mix='local')),
    terms=[
        ('view1', 'view2', 1.0, dict(smoothing=0.1)),
        ('mix2', 'view1', 0.5),
        ('mix2', 'mix1', 0.5),
        ('local', 'view1', 1.0, dict(smoothing=0.1)),
        ('local', 'view2', 1.0, dict(smoothing=0.1)),
        ('local_mix', 'view1', 1.0),
        ('local_mix', 'view2', 1.0),
    ],
)
