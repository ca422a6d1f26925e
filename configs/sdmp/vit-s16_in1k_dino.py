# SDMP on DINO, ViT-S/16 on ImageNet-1K, 300 epochs (Table 1: linear 76.4): four of eight local crops are mixed.
_base_ = ['../_base_/methods/dino.py', '../_base_/data/in1k.py']

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
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
views = dict(
    local=dict(crops=4),
    spare=dict(crops=4, size=96, crop=(0.05, 0.4), steps=['jitter_mild', 'gray', 'blur_half', 'flip']),
)
