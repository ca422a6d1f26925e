# What all runs of docs/digits_table.md share: the digits, a small ViT, 20 epochs of AdamW. The ViT is two thirds as
# wide as that of configs/patchmix/vit-xs4_digits.py, so that all runs together take half an hour on two cores.
_base_ = ['../datasets/digits.py', '../schedules/patchmix_300e.py', '../default_runtime.py']

vit = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=64, num_layers=4, num_heads=2, feedforward_channels=256),
    img_size=16,
    patch_size=4,
)
# A run has one core.
train_dataloader = dict(num_workers=0)
val_dataloader = dict(num_workers=0)
val_cfg = dict(bank_dataloader=dict(num_workers=0))
param_scheduler = [dict(type='WarmupCosineLR', warmup=2, final=1e-6, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=20, val_interval=20)
default_hooks = dict(logger=dict(interval=11), checkpoint=dict(interval=20, max_keep_ckpts=1))
visualizer = dict(vis_backends=[dict(type='LocalVisBackend')])
