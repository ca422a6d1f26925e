# APS with momentum keys, as on ImageNet: sampled patches, clipped gradients (docs/digits_table.md).
_base_ = ['../_base_/models/aps.py', '../_base_/digits_table/sampled_patches.py']

model = dict(
    backbone=dict(_delete_=True, **_base_.vit),
    neck=dict(in_channels=64, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
)
custom_hooks = [
    dict(type='BannerHook'),
    dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05),
]
