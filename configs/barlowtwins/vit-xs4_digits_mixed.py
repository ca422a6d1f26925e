# Mixed Barlow Twins on the small ViT, with the weights of CIFAR.
_base_ = './vit-xs4_digits.py'

model = dict(
    mixer=dict(type='Mixup', pairing='permutation', share=dict(type='Uniform'), per_sample=False),
    streams=dict(mix1=dict(mix=('view1', 'view2'))),
    terms=[
        ('view1', 'view2', 1.0),
        ('mix1', 'view1', 4 / 128, dict(to='mixture')),
        ('mix1', 'view2', 4 / 128, dict(to='mixture')),
    ],
)
