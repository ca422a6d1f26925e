# A small ViT on scikit-learn's digits: the quick start. Not from the paper; chosen on held-out training images.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/digits.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
        fixed_position=True,  # learned positions cost short runs some points
        drop_path_rate=0.0,
    ),
    neck=dict(hidden_channels=512, out_channels=128),
    predictor=dict(hidden_channels=512),
    target=dict(momentum=0.97),  # short runs need a faster target
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
optimizer = dict(lr=8e-3, weight_decay=0.04)
schedule = dict(epochs=70, warmup=16, final=1e-6)
batch = 64
measure = dict(every=14)
default_hooks = dict(logger=dict(interval=11), checkpoint=dict(interval=14), health=dict(grace=100))
