# Continued pretraining from other people's weights: names that a method's config takes over. The rates are a tenth of
# those from scratch, falling by a quarter per block towards the stem, after a short warm-up.
continued_optim_wrapper = dict(
    constructor='LayerDecayConstructor',
    optimizer=dict(type='AdamW', lr=2e-4, betas=(0.9, 0.999), weight_decay=0.04),  # 5e-5 per 256 images
    paramwise_cfg=dict(
        layer_decay_rate=0.75,
        flat_decay_mult=0.0,
        custom_keys={f'.{name}': dict(decay_mult=0.0) for name in ('cls_token', 'reg_token', 'pos_embed')},
    ),
)
continued_schedule = [dict(type='WarmupCosineLR', warmup=1, final=1e-6, by_epoch=True, convert_to_iter_based=True)]
continued_epochs = 50
