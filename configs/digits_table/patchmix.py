# PatchMix on the digits, with its momentum encoder (docs/digits_table.md).
_base_ = ['../_base_/models/patchmix.py', '../_base_/digits_table/two_views.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
    target=dict(momentum=0.99),  # as the other hosts here
    mixer=dict(patch_size=4),
)
