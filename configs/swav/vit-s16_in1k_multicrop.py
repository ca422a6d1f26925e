# SwAV with six local crops, ViT-S/16 on ImageNet-1K with the recipe of DINO (SDMP, Table 1 quotes linear 73.5).
_base_ = '../dino/vit-s16_in1k.py'
model = dict(
    neck=dict(
        _delete_=True,
        type='MLPHead',
        hidden_channels=2048,
        out_channels=128,
        last_norm=False,
        bias=True,
        last_bias=True,
    ),
    target=dict(_delete_=True, type='StopGrad'),
    objective=dict(_delete_=True, type='SwAV', num_prototypes=3000),
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
    joint=[('view1', 'view2', 'local')],
)
views = dict(local=dict(crops=6))
