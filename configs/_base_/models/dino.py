# DINO on ViT-S/16 with two global and eight local crops; every (teacher, other student view) pair counts alike.
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        drop_path_rate=0.1,
    ),
    neck=dict(type='DINOHead', in_channels=384, out_channels=65536),
    target=dict(type='EMA', momentum=0.996),
    objective=dict(type='DINODistillation', num_prototypes=65536, centred_by=('view1', 'view2'), warmup=0.1),
    views=dict(view1=1, view2=1, local=8),
    terms=[
        ('view1', 'view2', 1 / 18),
        ('view2', 'view1', 1 / 18),
        ('local', 'view1', 8 / 18),
        ('local', 'view2', 8 / 18),
    ],
)
