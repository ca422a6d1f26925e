# MixMask with Un-Mix on MoCo v2, ResNet-50 on ImageNet-1K, 200 epochs (linear 69.5): both mixtures are terms.
_base_ = '../mocov2/r50_in1k.py'

of_unmix = [dict(type='Mixup', per_sample=False), dict(type='CutMix', per_sample=False)]
model = dict(
    streams=dict(
        mix1=dict(mix='view1', mixer=dict(type='Choice', mixers=of_unmix)),
        mask1=dict(mix='view1', mixer=dict(type='MixMask', pairing='permutation', grid=8)),
    ),
    terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 1.0), ('mask1', 'view2', 1.0)],
)
