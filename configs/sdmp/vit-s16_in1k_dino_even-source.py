# SDMP on DINO with both sources of a mixture weighted alike, whatever their shares (Table 6: linear 75.5).
_base_ = './vit-s16_in1k_dino.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.1),
        ('view2', 'view1', 0.1),
        ('local', 'view1', 0.4),
        ('local', 'view2', 0.4),
        ('local_mix', 'view1', 0.5, dict(target='even')),
        ('local_mix', 'view2', 0.5, dict(target='even')),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
