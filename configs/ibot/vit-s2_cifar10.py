# iBOT, ViT-S/2 on CIFAR-10: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = ['../_base_/methods/ibot.py', '../_base_/datasets/cifar10.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        img_size=32,
        patch_size=2,
    ),
    neck=dict(in_channels=384),
)
global_crop = dict(_base_.crop, crop_ratio_range=(0.25, 1.0))
local_crop = dict(_base_.crop, scale=16, crop_ratio_range=(0.05, 0.25))
views = dict(
    type='KeyedMultiView',
    num_views=[1, 1, 10],
    transforms=[*[[global_crop, *steps] for steps in _base_.byol_steps], [local_crop, *_base_.local_steps]],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
custom_hooks = [*_base_.custom_hooks, *_base_.dino_hooks]
