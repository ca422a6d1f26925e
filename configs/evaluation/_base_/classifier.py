# What the protocols on classifiers share. The number of classes follows from the data set, that of features from the
# backbone.
_base_ = '../../_base_/runtime.py'

model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(),
    neck=dict(type='PooledOutput'),
    head=dict(type='mmpretrain.LinearClsHead', loss=dict(type='mmpretrain.CrossEntropyLoss')),
)
test_evaluator = dict(type='mmpretrain.Accuracy', topk=(1, 5))

# Colours are BGR. The noise of erasing is standard normal once the images are normalised by ImageNet's statistics.
steps = dict(
    jitter_evenly=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.4, backend='pillow'),
    colour_noise=dict(type='ColourNoise', deviation=0.1),
    # timm's rand-m9-mstd0.5-inc1 and random erasing, for fine-tuning as in DeiT, MAE, PatchMix and APS
    randaugment=dict(
        type='RandAugment',
        _scope_='mmpretrain',  # since its policies are named without a scope
        policies='timm_increasing',
        num_policies=2,
        magnitude_level=9,
        magnitude_std=0.5,
        hparams=dict(pad_val=[104, 116, 124], interpolation='bicubic'),
    ),
    erasing=dict(
        type='RandomErasing',
        erase_prob=0.25,
        min_area_ratio=0.02,
        max_area_ratio=1 / 3,
        fill_color=[103.53, 116.28, 123.675],
        fill_std=[57.375, 57.12, 58.395],
    ),
)
