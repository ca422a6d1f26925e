# APS with keys from the online encoder, as on CIFAR: sampled patches (docs/digits_table.md).
_base_ = ['../_base_/models/aps_cifar.py', '../_base_/digits_table/sampled_patches.py']

model = dict(backbone=dict(_delete_=True, **_base_.vit), neck=dict(in_channels=64))
