# BYOL, ResNet-50 on ImageNet-1K, 300 epochs (BSIM, Table 2: linear 72.3).
_base_ = './r50_in1k.py'

schedule = dict(epochs=300)
