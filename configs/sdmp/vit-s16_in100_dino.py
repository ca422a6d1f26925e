# SDMP on DINO, ViT-S/16 on ImageNet-100, 300 epochs (Table 11: linear 83.2).
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/in100_dino_4.py',
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
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # batch 512
auto_scale_lr = dict(base_batch_size=512)
