# WBSIM on BYOL, ResNet-50 on ImageNet-1K, 300 epochs (Table 2: linear 73.0).
_base_ = '../bsim/r50_in1k_byol.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.5),
        ('view2', 'view1', 0.5),
        ('mix1', 'view2', 0.5),
        ('mix2', 'view1', 0.5),
    ],
)
schedule = dict(epochs=300)
