# The frame of PatchMix with CutMix or Mixup, ViT-S/2 on CIFAR-100 (Table 5).
_base_ = './vit-s2_cifar10.py'

model = dict(
    mixer=dict(
        _delete_=True,
        type='Choice',
        mixers=[
            dict(type='Mixup', share=dict(type='Beta', alpha=0.8), per_sample=False),
            dict(type='CutMix', per_sample=False),
        ],
    ),
)
data = 'cifar100'
