# MoCo v3, ViT-S/2 on CIFAR-10: batch 512, 800 epochs (PatchMix, Table 3: kNN 89.1).
_base_ = ['../_base_/methods/mocov3.py', '../_base_/datasets/cifar10.py']

model = dict(backbone=dict(img_size=32, patch_size=2))
# PatchMix' crops (bicubic, from a tenth), so that the table compares losses
crop = dict(_base_.crop, crop_ratio_range=(0.1, 1.0))
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=3e-4))  # 1.5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
