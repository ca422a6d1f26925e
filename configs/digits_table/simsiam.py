# SimSiam on the digits (docs/digits_table.md): the bottleneck is a quarter as wide as the output, as at full size.
_base_ = ['../_base_/models/simsiam_r50.py', '../_base_/digits_table/two_views.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512, out_channels=512),
    predictor=dict(in_channels=512, hidden_channels=128, out_channels=512),
)
