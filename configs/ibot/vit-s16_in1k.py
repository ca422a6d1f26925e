# iBOT, ViT-S/16 on ImageNet-1K: batch 1024 (8 x 128), 800 epochs (PatchMix, Table 2 quotes linear 76.2, kNN 72.4).
_base_ = ['../_base_/methods/ibot.py', '../_base_/datasets/in1k.py']

global_crop = dict(_base_.crop, crop_ratio_range=(0.25, 1.0))
local_crop = dict(_base_.crop, scale=96, crop_ratio_range=(0.05, 0.25))
views = dict(
    type='KeyedMultiView',
    num_views=[1, 1, 10],
    transforms=[*[[global_crop, *steps] for steps in _base_.byol_steps], [local_crop, *_base_.local_steps]],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
custom_hooks = [*_base_.custom_hooks, *_base_.dino_hooks]
