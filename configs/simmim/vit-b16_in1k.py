# SimMIM, ViT-B/16 on ImageNet-1K: batch 2048, 800 epochs (APS, Table 1: fine-tuned 83.8).
_base_ = ['../_base_/methods/simmim.py', '../_base_/datasets/in1k.py']

crop = dict(_base_.crop, crop_ratio_range=(0.67, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[1], transforms=[[crop, _base_.flip]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.mask, _base_.pack])))
