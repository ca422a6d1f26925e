# The frame of PatchMix with its origin-to-origin term only (docs/digits_table.md).
_base_ = './patchmix.py'

model = dict(terms=[('view1', 'view2', 1.0)])
