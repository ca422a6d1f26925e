# ScaleMix on MoCo v3 (in no paper): each view's query is mixed with a crop of the same augmentations; keys are clean.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    mixer=dict(type='ScaleMix'),
    streams=dict(mix1=dict(mix=('view1', 'view3')), mix2=dict(mix=('view2', 'view4'))),
    terms=[('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
views = dict(
    view3=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view4=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
