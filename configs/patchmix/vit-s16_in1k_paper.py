# PatchMix as its text reads: weights 1 : 1 : M for M = 3, and the mixed query is view 1 (the one always blurred).
_base_ = './vit-s16_in1k.py'

model = dict(terms=[('view2', 'view1', 1.0), ('mix1', 'view2', 1.0), ('mix1', 'mix2', 3.0)])
