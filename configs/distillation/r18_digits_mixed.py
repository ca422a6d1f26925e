# The quick start's ViT, trained by mixcl, into a narrow ResNet-18 on digits: pretrain patchmix/vit-xs4_digits first.
_base_ = ['../_base_/methods/distillation.py', '../_base_/data/digits.py']

model = dict(
    backbone=dict(
        type='mmpretrain.ResNet_CIFAR',
        depth=18,
        base_channels=16,
        stem_channels=16,
        norm_cfg=dict(type='BN'),
        zero_init_residual=False,
    ),
    neck=dict(hidden_channels=512),
    target=dict(
        backbone=dict(
            type='ContrastiveViT',
            arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
            patch_size=4,
            fixed_position=True,
        ),
        pretrained='work_dirs/patchmix/vit-xs4_digits/epoch_70.pth',
    ),
    memory=dict(queue=dict(size=512)),
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix')]),
    streams=dict(mix1=dict(mix='view1')),
    terms=[('view1', 'view1', 0.5), ('mix1', 'view1', 0.5)],
)
optimizer = dict(lr=8e-3)
schedule = dict(epochs=70, warmup=7)
batch = 64
measure = dict(every=14)
default_hooks = dict(logger=dict(interval=11), health=dict(grace=100))
