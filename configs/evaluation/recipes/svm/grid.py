# Linear SVMs on the last map of a ResNet, pooled to 2x2 as in OpenSelfSup (ResNet-50: BSIM, Table 1).
_base_ = './output.py'

protocol = dict(feature='last map pooled to 2x2 (average, window 6, stride 1), L2-normalised')
model = dict(feature=dict(type='PooledGrid', kernel=6, stride=1))
