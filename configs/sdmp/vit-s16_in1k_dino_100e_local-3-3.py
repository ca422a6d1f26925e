# SDMP on DINO with three local crops clean and three mixed, 100 epochs (Table 10: linear 74.0).
_base_ = './vit-s16_in1k_dino.py'
model = dict(
    terms=[
        ('view1', 'view2', 1 / 8),
        ('view2', 'view1', 1 / 8),
        ('local', 'view1', 3 / 8),
        ('local', 'view2', 3 / 8),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
views = dict(local=dict(crops=3), spare=dict(crops=3))
schedule = dict(epochs=100)
