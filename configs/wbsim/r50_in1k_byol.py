# WBSIM on BYOL, ResNet-50 on ImageNet-1K: half BYOL, half BSIM (the paper does not give the weights).
_base_ = '../bsim/r50_in1k_byol.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.5),
        ('view2', 'view1', 0.5),
        ('mix1', 'view2', 0.5),
        ('mix2', 'view1', 0.5),
    ],
)
