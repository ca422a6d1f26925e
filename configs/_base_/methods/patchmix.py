# PatchMix with a momentum encoder on ViT-S/16 (three terms, Eq. 10 to 16; weights of the authors' code).
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=16,
        drop_path_rate=0.1,
        position_offset=0.1,
    ),
    neck=dict(type='MLPHead', hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', hidden_channels=4096, num_layers=2),
    target=dict(type='EMA', momentum=0.996),
    objective=dict(type='InfoNCE', temperature=0.2),
    mixer=dict(type='PatchMix', num_mix=3),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
views = dict(
    all=dict(crop=(0.05, 1.0)),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
# AdamW; learning rate 5e-4 per 256 images; warm-up from 0, then cosine to 1e-6; weight decay rises on a cosine.
optimizer = dict(type='AdamW', lr=5e-4, betas=(0.9, 0.999), weight_decay=(0.04, 0.4), spare='flat')
schedule = dict(epochs=300, warmup=10, final=1e-6)
batch = 1024
