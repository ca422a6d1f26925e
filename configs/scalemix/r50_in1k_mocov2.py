# ScaleMix on MoCo v2, ResNet-50 on ImageNet-1K, 100 epochs (linear 67.6; MoCo v2 with batch norm in its head 65.8).
_base_ = '../mocov2/r50_in1k.py'

# Two crops make the query; a third one, clean, is the key.
model = dict(
    mixer=dict(type='ScaleMix'),
    streams=dict(mix1=dict(mix=('view1', 'view2'))),
    memory=dict(queue=dict(fed_by='view3')),
    terms=[('mix1', 'view3', 1.0)],
)
views = dict(view3=dict())
schedule = dict(epochs=100)
