# The kNN protocol of PatchMix, DINO and iBOT. How it votes is in loaders.py, since pretraining validates by it too.
protocol = dict(
    name='knn',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head',
    bank='training images, not augmented',
    neighbours=(10, 20, 100, 200),
    temperature=0.07,
)
model = dict(
    type='FrozenEncoder',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),  # heads as PatchMix's
        img_size=224,
        patch_size=16,
    ),
    feature=dict(type='Output'),
)
