# BYOL on the digits (docs/digits_table.md).
_base_ = ['../_base_/models/byol_r50.py', '../_base_/digits_table/two_views.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
)
