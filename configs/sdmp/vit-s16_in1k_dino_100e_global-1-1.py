# SDMP on DINO with one global crop clean and one mixed, none local, 100 epochs (Table 10: linear 64.1).
_base_ = './vit-s16_in1k_dino.py'
model = dict(
    streams=dict(_delete_=True, mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    joint=[],
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)],
)
views = dict(local=None, spare=None)
schedule = dict(epochs=100)
