# SDMP on MoCo v3, ViT-S/16 on ImageNet-1K, 300 epochs (Table 1: linear 73.8): a mixture replaces one clean query.
_base_ = ['../_base_/methods/mocov3.py', '../_base_/data/in1k.py']

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    swap_views=0.5,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
optimizer = dict(lr=1.5e-4)
batch = 1024
