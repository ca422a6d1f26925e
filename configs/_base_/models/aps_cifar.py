# APS on ViT-S/2 for CIFAR: keys from the online encoder, three-layer heads, the authors' plain blocks.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=32,
        patch_size=2,
        qkv_bias=False,
        norm_cfg=dict(type='LN', eps=1e-5),
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=512, out_channels=128, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=128, hidden_channels=512, out_channels=128, num_layers=3),
    target=dict(type='StopGrad'),
    objective=dict(type='InfoNCE', temperature=0.1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
