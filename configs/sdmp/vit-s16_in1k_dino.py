# SDMP on DINO, ViT-S/16 on ImageNet-1K, 300 epochs (Table 1: linear 76.4): four of eight local crops are mixed.
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/in1k_dino_4.py',
    '../_base_/schedules/dino_300e.py',
    '../_base_/dino_runtime.py',
]
model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    views=dict(view1=1, view2=1, local=4, spare=4),
    streams=dict(local_mix=dict(mix='spare'), mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    joint=[('local', 'local_mix')],
    terms=[
        ('view1', 'view2', 0.1),
        ('view2', 'view1', 0.1),
        ('local', 'view1', 0.4),
        ('local', 'view2', 0.4),
        ('local_mix', 'view1', 0.5),
        ('local_mix', 'view2', 0.5),
        ('local_mix', 'mix1', 0.5),
        ('local_mix', 'mix2', 0.5),
    ],
)
