# BSIM on BYOL, ResNet-50 on ImageNet-1K, 300 epochs (Table 2: linear 72.7).
_base_ = './r50_in1k_byol.py'

schedule = dict(epochs=300)
