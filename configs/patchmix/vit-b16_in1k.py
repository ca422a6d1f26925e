# PatchMix, ViT-B/16 on ImageNet-1K, 300 epochs (paper, Table 2: kNN 76.2).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/in1k.py']

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768),
)
crop = dict(_base_.crop, crop_ratio_range=(0.05, 1.0))
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=3e-3))  # 7.5e-4 per 256 images
