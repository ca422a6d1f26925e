# DINO on the digits, with two global and four local crops (docs/digits_table.md).
_base_ = ['../_base_/models/dino.py', '../_base_/digits_table/local_crops.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512, out_channels=1024),
    target=dict(momentum=0.99),  # as the other hosts here
    objective=dict(num_prototypes=1024),
    views=dict(local=4),
    terms=[
        ('view1', 'view2', 1 / 10),
        ('view2', 'view1', 1 / 10),
        ('local', 'view1', 4 / 10),
        ('local', 'view2', 4 / 10),
    ],
)
custom_hooks = [
    dict(type='BannerHook'),
    dict(type='FrozenPrototypesHook', epochs=1),
]
