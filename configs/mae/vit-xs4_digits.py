# MAE on the small ViT of configs/patchmix/vit-xs4_digits.py, with its learning rate and length.
_base_ = ['../_base_/methods/mae.py', '../_base_/datasets/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
    ),
    neck=dict(num_patches=16, patch_size=4, embed_dim=96, decoder_embed_dim=96, decoder_depth=2, decoder_num_heads=3),
    head=dict(patch_size=4),
)
single = dict(type='KeyedMultiView', num_views=[1], transforms=_base_.views[:1])
optim_wrapper = dict(optimizer=dict(lr=2e-3))
param_scheduler = [dict(type='WarmupCosineLR', warmup=16, final=0.0, by_epoch=True, convert_to_iter_based=True)]
train_dataloader = dict(
    batch_size=64, dataset=dict(dataset=dict(pipeline=[_base_.enlarge, single, _base_.training_pipeline[-1]]))
)
auto_scale_lr = dict(base_batch_size=64)
train_cfg = dict(max_epochs=70, val_interval=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
