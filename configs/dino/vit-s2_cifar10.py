# DINO, ViT-S/2 on CIFAR-10: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = ['../_base_/methods/dino.py', '../_base_/datasets/cifar10.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        img_size=32,
        patch_size=2,
    ),
    neck=dict(in_channels=384),
)
global_crop = dict(_base_.crop, crop_ratio_range=(0.4, 1.0))
# 16 pixels: PatchMix's Table 3 has 311.4 GFLOPs; 16 pixels give 310.0, and 14 give 279.5.
local_crop = dict(_base_.crop, scale=16, crop_ratio_range=(0.05, 0.4))
views = dict(
    type='KeyedMultiView',
    num_views=[1, 1, 8],
    transforms=[*[[global_crop, *steps] for steps in _base_.byol_steps], [local_crop, *_base_.local_steps]],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
custom_hooks = [*_base_.custom_hooks, *_base_.dino_hooks]
