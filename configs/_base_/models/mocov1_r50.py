# MoCo v1 on ResNet-50: as v2 with a linear head and temperature .07.
_base_ = './mocov2_r50.py'

model = dict(neck=dict(hidden_channels=None), objective=dict(temperature=0.07))
