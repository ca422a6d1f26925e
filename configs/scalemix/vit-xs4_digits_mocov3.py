# ScaleMix on MoCo v3: each view's query is mixed with a further crop; keys are the clean views.
_base_ = '../mocov3/vit-xs4_digits.py'

model = dict(
    mixer=dict(type='ScaleMix'),
    streams=dict(mix1=dict(mix=('view1', 'view3')), mix2=dict(mix=('view2', 'view4'))),
    terms=[('mix1', 'view2', 1.0), ('mix2', 'view1', 1.0)],
)
views = dict(view3=dict(), view4=dict())  # as the first view; the second is solarised
