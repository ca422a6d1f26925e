# SDMP on DINO with mixtures pulled to the mixtures of the same image alone (Table 6: linear 76.1).
_base_ = './vit-s16_in1k_dino.py'

model = dict(
    terms=[
        ('view1', 'view2', 0.1),
        ('view2', 'view1', 0.1),
        ('local', 'view1', 0.4),
        ('local', 'view2', 0.4),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5, dict(target='owner')),
        ('local_mix', 'mix2', 0.5, dict(target='owner')),
    ],
)
