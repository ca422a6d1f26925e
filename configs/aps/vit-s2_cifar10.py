# APS, ViT-S/2 on CIFAR-10: batch 512, 1600 epochs (Table 2: fine-tuned 98.0; 3200: schedule.epochs=3200).
_base_ = '../_base_/data/cifar10.py'

# Keys from the online encoder, three-layer heads, the authors' plain blocks.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='APSViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        patch_size=2,
        qkv_bias=False,
        norm_cfg=dict(type='LN', eps=1e-5),
    ),
    neck=dict(type='MLPHead', hidden_channels=512, out_channels=128, num_layers=3),
    predictor=dict(type='MLPHead', hidden_channels=512, num_layers=3),
    target=dict(type='StopGrad'),
    objective=dict(type='InfoNCE', temperature=0.1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
data_preprocessor = dict(mean=[125.307, 122.961, 113.8575], std=[51.5865, 50.847, 51.255])  # CIFAR's own
# A quarter of the patches of each view, sampled to overlap little.
views = dict(
    type='SampledPatchPair',
    ratio=0.25,
    power=3.0,
    all=dict(crop=(0.15, 1.0), interpolation='bilinear', steps=['flip', 'jitter_strong', 'gray']),
    view1=dict(),
    view2=dict(),
)
# AdamW, 5e-4 per 256 images, weight decay .05 on all parameters, 20 epochs of warm-up, per epoch.
optimizer = dict(type='AdamW', lr=5e-4, betas=(0.9, 0.999), weight_decay=0.05)
schedule = dict(type='CutWarmupCosineLR', epochs=1600, warmup=20, per='epoch')
batch = 512
measure = dict(every=20)
