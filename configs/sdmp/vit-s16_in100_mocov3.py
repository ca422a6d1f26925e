# SDMP on MoCo v3, ViT-S/16 on ImageNet-100, 300 epochs (Table 11: linear 81.8).
_base_ = '../mocov3/vit-s16_in100.py'

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    swap_views=0.5,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
