# MoCo v3, ViT-S/16 on your own images: --data-root DIR. One GPU, batch 128, 300 epochs of the ImageNet recipe.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/datasets/folder.py']

crop = dict(_base_.crop, crop_ratio_range=(0.08, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
auto_scale_lr = dict(base_batch_size=4096, enable=True)  # the recipe's rate is for 4096 images; scaled to your batch
