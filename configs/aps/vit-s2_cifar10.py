# APS, ViT-S/2 on CIFAR-10: batch 512, 1600 epochs (Table 2: fine-tuned 98.0; 3200: train_cfg.max_epochs=3200).
_base_ = '../_base_/datasets/cifar10.py'

# Keys from the online encoder, three-layer heads, the authors' plain blocks.
model = dict(
    type='PatchSamplingLearner',
    backbone=dict(
        type='APSViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=32,
        patch_size=2,
        qkv_bias=False,
        norm_cfg=dict(type='LN', eps=1e-5),
    ),
    neck=dict(type='MLPHead', in_channels=384, hidden_channels=512, out_channels=128, num_layers=3),
    predictor=dict(type='MLPHead', in_channels=128, hidden_channels=512, out_channels=128, num_layers=3),
    target=dict(type='StopGrad'),
    objective=dict(type='InfoNCE', temperature=0.1),
    terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
)
crop = dict(_base_.crop, type='RecordedResizedCrop', crop_ratio_range=(0.15, 1.0), interpolation='bilinear')
# A quarter of the patches of each view, sampled to overlap little.
views = dict(type='SampledPatchPair', patch_size=2, ratio=0.25, power=3.0, transforms=[[crop, *_base_.cifar_steps]] * 2)
pack = dict(_base_.pack, algorithm_keys=['tokens', 'patch_grid'])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, pack])))
data_preprocessor = dict(mean=[125.307, 122.961, 113.8575], std=[51.5865, 50.847, 51.255])  # CIFAR's own
# AdamW, 5e-4 per 256 images, weight decay .05 on all parameters, 20 epochs of warm-up, per epoch.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=1e-3, betas=(0.9, 0.999), weight_decay=0.05),
)
param_scheduler = [dict(type='CutWarmupCosineLR', warmup=20, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(type='ChunkedPretrainLoop', max_epochs=1600, val_interval=20)
