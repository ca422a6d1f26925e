# WBSIM on BYOL: half BYOL, half BSIM (docs/digits_table.md).
_base_ = './bsim_byol.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.5),
        ('view2', 'view1', 0.5),
        ('mix1', 'view2', 0.5),
        ('mix2', 'view1', 0.5),
    ],
)
