# SDMP on DINO with one local crop clean and one mixed, 100 epochs (Table 10: linear 70.9).
_base_ = './vit-s16_in1k_dino.py'
model = dict(
    terms=[
        ('view1', 'view2', 1 / 4),
        ('view2', 'view1', 1 / 4),
        ('local', 'view1', 1 / 4),
        ('local', 'view2', 1 / 4),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
views = dict(local=dict(crops=1), spare=dict(crops=1))
schedule = dict(epochs=100)
