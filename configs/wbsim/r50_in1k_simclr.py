# WBSIM on SimCLR, ResNet-50 on ImageNet-1K: half SimCLR, half BSIM (the paper does not give the weights).
_base_ = '../bsim/r50_in1k_simclr.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.25),
        ('view2', 'view1', 0.25),
        ('mix1', 'view2', 0.25),
        ('mix2', 'view1', 0.25),
    ],
)
