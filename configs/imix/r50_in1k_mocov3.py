# i-mix on MoCo v3, ResNet-50 on ImageNet-1K (SDMP, Table 1: linear 72.8).
_base_ = '../mocov3/r50_in1k.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Beta', folded=True)),
    shared_plan=False,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
