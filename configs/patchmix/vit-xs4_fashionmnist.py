# A small ViT on Fashion-MNIST, 49 patches. Not from the paper; not tuned.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/fashionmnist.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
        fixed_position=True,  # learned positions cost short runs some points
        drop_path_rate=0.0,
    ),
    neck=dict(hidden_channels=512, out_channels=128),
    predictor=dict(hidden_channels=512),
    target=dict(momentum=0.99),  # short runs need a faster target
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
optimizer = dict(lr=2e-3, weight_decay=0.04)
schedule = dict(epochs=30, warmup=3, final=1e-6)
batch = 256
measure = dict(every=5)
