# SimMIM on the small ViT of configs/patchmix/vit-xs4_digits.py, with its rate and length; single patches masked.
_base_ = ['../_base_/methods/simmim.py', '../_base_/datasets/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
    ),
    neck=dict(in_channels=96, encoder_stride=4),
    head=dict(patch_size=4),
)
single = dict(type='KeyedMultiView', num_views=[1], transforms=_base_.views[:1])
mask = dict(_base_.mask, input_size=16, mask_patch_size=4, model_patch_size=4)
optim_wrapper = dict(optimizer=dict(lr=2e-3))
param_scheduler = [dict(type='WarmupCosineLR', warmup=16, final=0.0, by_epoch=True, convert_to_iter_based=True)]
train_dataloader = dict(
    batch_size=64, dataset=dict(dataset=dict(pipeline=[_base_.enlarge, single, mask, _base_.training_pipeline[-1]]))
)
auto_scale_lr = dict(base_batch_size=64)
train_cfg = dict(max_epochs=70, val_interval=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
