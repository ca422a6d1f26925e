# PatchMix, continued from DINOv3's ViT-S/16 on your own images: --data-root DIR --pretrained FILE. 50 epochs.
_base_ = ['./vit-s16_folder.py', '../_base_/continued.py']

model = dict(
    backbone=dict(
        _delete_=True,
        type='TimmBackbone',
        name='vit_small_patch16_dinov3',
        arguments=dict(img_size=224, dynamic_img_size=True),
        frozen_blocks=None,  # 4 keeps the patch embedding and the first four blocks as they are
        lora=None,  # dict(r=8) trains low-rank updates alone
    )
)
optim_wrapper = _base_.continued_optim_wrapper
param_scheduler = _base_.continued_schedule
train_cfg = dict(max_epochs=_base_.continued_epochs, val_interval=_base_.continued_epochs)
