# DeiT-S, to be trained from scratch.
model = dict(
    backbone=dict(
        type='mmpretrain.VisionTransformer',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
    )
)
