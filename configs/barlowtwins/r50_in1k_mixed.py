# Mixed Barlow Twins, ResNet-50 on ImageNet-1K (linear 72.2): view 1 is mixed with view 2 of other images.
_base_ = './r50_in1k.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Uniform'), per_sample=False),
    streams=dict(mix1=dict(mix=('view1', 'view2'))),
    terms=[
        ('view1', 'view2', 1.0),
        ('mix1', 'view1', 0.0051, dict(to='mixture')),
        ('mix1', 'view2', 0.0051, dict(to='mixture')),
    ],
)
