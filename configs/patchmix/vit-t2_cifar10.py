# PatchMix, ViT-T/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 92.9).
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/cifar10.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768), img_size=32, patch_size=2
    ),
    neck=dict(in_channels=192),
    mixer=dict(patch_size=2),
)
crop = dict(_base_.crop, crop_ratio_range=(0.1, 1.0))
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=4e-3, weight_decay=0.02))  # 2e-3 per 256 images
param_scheduler = [
    dict(type='WarmupCosineLR', warmup=100, final=1e-6, by_epoch=True, convert_to_iter_based=True),
    dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=10, by_epoch=True, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
