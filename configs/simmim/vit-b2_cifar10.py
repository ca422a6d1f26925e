# SimMIM, ViT-B/2 on CIFAR-10: batch 512, 1600 epochs (APS, Table 2: fine-tuned 97.1).
_base_ = ['../_base_/methods/simmim.py', '../_base_/datasets/cifar10.py']

model = dict(backbone=dict(img_size=32, patch_size=2), neck=dict(encoder_stride=2), head=dict(patch_size=2))
crop = dict(_base_.crop, crop_ratio_range=(0.67, 1.0), interpolation='bilinear')
views = dict(type='KeyedMultiView', num_views=[1], transforms=[[crop, _base_.flip]])
mask = dict(_base_.mask, input_size=32, mask_patch_size=4, model_patch_size=2)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, mask, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=1e-4))  # 1e-4 per 512 images
param_scheduler = [_base_.param_scheduler[0], dict(_base_.param_scheduler[1], milestones=[1400])]
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=1600, val_interval=20)
