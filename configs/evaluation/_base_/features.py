# What the protocols on features of a frozen backbone share: its output for training images (the bank) and test images.
_base_ = '../../_base_/runtime.py'

model = dict(type='FrozenEncoder', backbone=dict(), feature=dict(type='Output'))
