# PatchMix, continued from DINOv3's ViT-S/16 on your own images: --data-root DIR --pretrained FILE. 50 epochs.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/datasets/folder.py', '../_base_/continued.py']

model = dict(
    backbone=dict(
        _delete_=True,
        type='TimmBackbone',
        name='vit_small_patch16_dinov3',
        arguments=dict(img_size=224, dynamic_img_size=True),
        frozen_blocks=None,  # 4 freezes the patch embedding and the first four blocks
        lora=None,  # 8 trains only low-rank updates of rank 8
    )
)
crop = dict(_base_.crop, crop_ratio_range=(0.05, 1.0))
views = dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, *steps] for steps in _base_.byol_steps])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
auto_scale_lr = dict(base_batch_size=1024, enable=True)
optim_wrapper = _base_.continued_optim_wrapper
param_scheduler = _base_.continued_schedule
train_cfg = dict(max_epochs=_base_.continued_epochs)
