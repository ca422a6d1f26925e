# WBSIM on BYOL, ResNet-50 on ImageNet-1K, 300 epochs (Table 2: linear 73.0).
_base_ = './r50_in1k_byol.py'

train_cfg = dict(max_epochs=300)
