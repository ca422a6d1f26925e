# Fine-tuning of the small ViT on plain images: AdamW, layer decay .75, 30 epochs. Not from a paper.
_base_ = './patchmix.py'

protocol = dict(recipe='small')
views = 'plain'
model = dict(
    backbone=dict(_delete_=True, fixed_position=False, frozen_patch_embed=False),
    head=dict(
        loss=dict(_delete_=True, type='mmpretrain.CrossEntropyLoss'),
        init_cfg=dict(_delete_=True, type='TruncNormal', layer='Linear', std=0.02),
    ),
    train_cfg=None,
)
optim_wrapper = dict(optimizer=dict(lr=1e-3))
param_scheduler = [dict(type='TimmCosineLR', warmup=3, start=1e-6, final=1e-6, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=30)
custom_hooks = [dict(type='BannerHook'), dict(type='UnreadableImagesHook')]
variants = [
    dict(percent=1, data='digits', batch=8, epochs=100, val_interval=10),
    dict(percent=10, data='digits', batch=32, epochs=100, val_interval=10),
    dict(percent=1, data='fashionmnist', batch=64, epochs=50, val_interval=5),
    dict(data='fashionmnist', batch=256, epochs=15),
]
