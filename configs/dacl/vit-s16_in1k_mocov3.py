# DACL on MoCo v3, ViT-S/16 on ImageNet-1K: Mixup as noise; the target is the owner alone.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Uniform', low=0.9, high=1.0)),
    shared_plan=False,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('mix1', 'mix2', 1.0, dict(target='owner')), ('mix2', 'mix1', 1.0, dict(target='owner'))],
)
