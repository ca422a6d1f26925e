# A linear classifier on the class token of the frozen small ViT for images of 16 pixels.
_base_ = './probe_vit-s16.py'

model = dict(
    backbone=dict(
        backbone=dict(
            arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384), img_size=16, patch_size=4
        )
    ),
    head=dict(num_classes=10, in_channels=96),
)
