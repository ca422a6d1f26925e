# MAE, ViT-S/16 on ImageNet-1K: batch 4096, 1600 epochs (APS, Table 1: fine-tuned 79.5).
_base_ = ['../_base_/methods/mae.py', '../_base_/datasets/in1k.py']

crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0))
views = dict(type='KeyedMultiView', num_views=[1], transforms=[[crop, _base_.flip]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
