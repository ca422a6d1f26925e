# DeiT's recipe, by which SDMP fine-tunes (Table 2; MoCo v3's own is 150 epochs of it): AdamW, 5e-4 per 512 images,
# batch 1024, every image three times per epoch, 5 epochs of warm-up; one learning rate for all layers.
# It fine-tunes the encoder that the method's linear probe takes: MoCo v3's online encoder, DINO's teacher.
# An average of the weights (decay .99996) is stored; the trained weights are evaluated.
_base_ = '../../_base_/vit.py'

protocol = dict(name='finetune', version=1, recipe='deit', feature='class token')
train_dataloader = dict(sampler=dict(type='RepeatedKeyedSampler', repeats=3))
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05),
    paramwise_cfg=dict(
        flat_decay_mult=0.0,
        custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
    ),
)
param_scheduler = [dict(type='TimmCosineLR', warmup=5, start=1e-6, final=1e-5, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=1024)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=100, val_interval=1)
custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='StoredAverageHook', momentum=4e-5),
]
variants = [dict(percent=1, epochs=300, val_interval=10)]
