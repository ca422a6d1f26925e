# WBSIM on MoCo v2, ResNet-50 on ImageNet-1K: half MoCo v2, half BSIM (the paper does not give the weights).
_base_ = '../bsim/r50_in1k_mocov2.py'

model = dict(
    terms=[('view1', 'view2', 0.5), ('mix1', 'view2', 0.5)],
)
