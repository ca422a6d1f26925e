# SDMP on MoCo v3, ResNet-50 on CIFAR-10, 200 epochs (2000: schedule.epochs=2000).
_base_ = '../mocov3/r50_cifar10.py'

model = dict(
    mixer=dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]),
    swap_views=0.5,
    streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)],
)
