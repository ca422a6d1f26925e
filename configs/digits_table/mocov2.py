# MoCo v2 on the digits (docs/digits_table.md). Without batch normalisation there is nothing to shuffle.
_base_ = ['../_base_/models/mocov2_r50.py', '../_base_/digits_table/two_views.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512),
    target=dict(_delete_=True, type='EMA', momentum=0.99, final_momentum=0.99),  # .999 would not move in 220 steps
    memory=dict(queue=dict(size=1024)),  # less than an epoch, so that no image meets its own older key
)
