# Low-shot linear SVMs on VOC07, ResNets (ResNet-50: BSIM Table 1): 2x2 places of the last map.
_base_ = './any_voc07.py'

protocol = dict(feature='last map pooled to 2x2 (average, window 6, stride 1), L2-normalised')
model = dict(feature=dict(type='PooledGrid', kernel=6, stride=1))
