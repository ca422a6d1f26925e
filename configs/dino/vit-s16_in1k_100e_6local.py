# DINO with 6 local crops, 100 epochs (SDMP, Table 10: linear 73.8).
_base_ = './vit-s16_in1k.py'
model = dict(
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
)
views = dict(local=dict(crops=6))
schedule = dict(epochs=100)
