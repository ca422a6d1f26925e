# MoCo v3, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/datasets/in1k.py']

crop = dict(_base_.crop, crop_ratio_range=(0.08, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
