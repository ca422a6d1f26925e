# PatchMix's fine-tuning: AdamW, 5e-4 per 256 images (ViT-T on CIFAR: 1e-3), layer decay .75 in timm's convention,
# 10 epochs of warm-up. An average of the weights (decay .99996) is stored; the trained weights are evaluated.
_base_ = '../../_base_/vit.py'

protocol = dict(name='finetune', version=1, recipe='patchmix', encoder='target', feature='class token')
model = dict(head=dict(init_cfg=None))  # torch's initialisation
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='TimmLayerDecayConstructor',
    optimizer=dict(type='AdamW', lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05),
    paramwise_cfg=dict(
        layer_decay_rate=0.75,
        flat_decay_mult=0.0,
        custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
    ),
)
param_scheduler = [dict(type='TimmCosineLR', warmup=10, start=1e-6, final=1e-5, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=1024)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=100, val_interval=1)
custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='StoredAverageHook', momentum=4e-5),
]
variants = [
    dict(percent=1, data='in100', rate=5e-4, batch=256, epochs=300, val_interval=10),
    dict(percent=1, rate=2.5e-4, batch=128, epochs=300, val_interval=10),
    dict(data='in1k in100'),
    dict(percent=10, rate=5e-4, batch=256),
    dict(backbone='vit-t2', data='cifar10', rate=1e-3, batch=256),
    dict(rate=5e-4, batch=256),
]
