# DINO on ViT-S/16 with two global and eight local crops; all pairs (teacher, other student view) weigh the same.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='DINOViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        patch_size=16,
        drop_path_rate=0.1,
    ),
    neck=dict(type='DINOHead', out_channels=65536),
    target=dict(type='EMA', momentum=0.996),
    objective=dict(type='DINODistillation', centred_by=('view1', 'view2'), warmup_epochs=30),
    terms=[
        ('view1', 'view2', 1 / 18),
        ('view2', 'view1', 1 / 18),
        ('local', 'view1', 8 / 18),
        ('local', 'view2', 8 / 18),
    ],
)
views = dict(
    all=dict(crop=(0.4, 1.0)),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
    local=dict(crops=8, size=96, crop=(0.05, 0.4), steps=['jitter_mild', 'gray', 'blur_half', 'flip']),
)
# AdamW: 5e-4 per 256 images, 10 epochs of warm-up; weight decay rises on a cosine.
optimizer = dict(type='AdamW', lr=5e-4, betas=(0.9, 0.999), weight_decay=(0.04, 0.4), spare='flat')
schedule = dict(epochs=300, warmup=10, final=1e-6)
batch = 1024
# Frozen prototypes in the first epoch, each parameter's gradient clipped at 3.
hooks = dict(prototypes=dict(type='FrozenPrototypesHook', epochs=1), clip=dict(type='ParameterClipHook', max_norm=3.0))
