# ViT-S/2 with the plain blocks of the APS authors' code as a classifier of mixed images.
_base_ = './classifier_vit-s2.py'

model = dict(
    backbone=dict(
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        qkv_bias=False,
        norm_cfg=dict(type='LN', eps=1e-5),
        drop_path_rate=0.0,  # .1 in the authors' configs, where nothing reads it
    )
)
