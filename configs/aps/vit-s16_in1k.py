# APS, ViT-S/16 on ImageNet-1K: batch 4096 (32 x 128), 300 epochs (Table 1: fine-tuned 82.1; 800 epochs: 82.6).
_base_ = '../_base_/data/in1k.py'

# Momentum keys, MoCo v3's heads, fixed positions, loss times the temperature.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        patch_size=16,
        fixed_position=True,
        frozen_patch_embed=True,  # the paper says "random", taken as in MoCo v3
    ),
    neck=dict(type='MLPHead', hidden_channels=4096, out_channels=256, num_layers=3),
    predictor=dict(type='MLPHead', hidden_channels=4096, num_layers=2),
    target=dict(type='EMA', momentum=0.99),
    objective=dict(type='InfoNCE', temperature=0.1, temperature_scale=1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
# A quarter of the patches of each view, sampled to overlap little.
views = dict(
    type='SampledPatchPair',
    ratio=0.25,
    power=3.0,
    all=dict(crop=(0.08, 1.0), interpolation='bilinear'),
    view1=dict(steps=['jitter_mild', 'gray', 'blur', 'flip']),
    view2=dict(steps=['jitter_mild', 'gray', 'blur_rarely', 'solarize', 'flip']),
)
# AdamW, 8e-5 per 256 images, weight decay .1 on all parameters, 20 epochs of warm-up, per epoch.
optimizer = dict(type='AdamW', lr=8e-5, betas=(0.9, 0.999), weight_decay=0.1)
schedule = dict(type='CutWarmupCosineLR', epochs=300, warmup=20, per='epoch')
batch = 4096
measure = dict(every=20)
hooks = dict(clip=dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05))
