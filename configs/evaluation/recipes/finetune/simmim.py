# SimMIM's fine-tuning of ViT-B/16: MAE's with 1.25e-3 per 512 images, 20 epochs of warm-up and clipped gradients.
_base_ = './mae.py'

protocol = dict(recipe='simmim')
model = dict(head=dict(init_cfg=dict(std=0.02)))
optim_wrapper = dict(optimizer=dict(lr=5e-3), clip_grad=dict(max_norm=5.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=2e-4, by_epoch=True, end=20, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', eta_min_ratio=2e-4, by_epoch=True, begin=20, end=100, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=2048)
