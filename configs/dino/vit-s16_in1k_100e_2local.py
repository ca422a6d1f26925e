# DINO with 2 local crops, 100 epochs (SDMP, Table 10: linear 71.5).
_base_ = './vit-s16_in1k.py'
model = dict(
    terms=[
        ('view1', 'view2', 1 / 6),
        ('view2', 'view1', 1 / 6),
        ('local', 'view1', 2 / 6),
        ('local', 'view2', 2 / 6),
    ],
)
views = dict(local=dict(crops=2))
schedule = dict(epochs=100)
