# PatchMix with a momentum encoder on ViT-S/16 (methods: 3-term loss, Eq. 10 to 16; weights as the authors' code).
model = dict(
    type='ContrastiveLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        drop_path_rate=0.1,
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=256, hidden_channels=4096, out_channels=256, num_layers=2),
    target=dict(type='EMA', momentum=0.996),
    objective=dict(type='InfoNCE', temperature=0.2),
    mixer=dict(type='PatchMix', num_mix=3, patch_size=16),
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
