# MoCo v3 whose online encoder sees a random half of the patches: less time and memory per step. Not from the paper.
_base_ = 'vit-s16_in1k.py'

model = dict(streams=dict(view1=dict(keep=0.5), view2=dict(keep=0.5)))
