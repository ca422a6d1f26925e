# DINO, ViT-B/16 on ImageNet-1K: linear probe on the class token and the average of the patches (PatchMix, Table 2).
_base_ = './vit-s16_in1k_dino.py'

model = dict(
    backbone=dict(
        backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
        feature=dict(_delete_=True, type='ClassTokenAndAverage', blocks=1),
    ),
    head=dict(in_channels=1536),
)
protocol = dict(feature='class token and average of the patches')
