# What every pretraining shares: hooks and environment, loaders, kNN as the measure, and the steps that make views.
# Files of data sets inherit it.
default_scope = 'mixcl'
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(type='CheckpointHook', interval=1, max_keep_ckpts=2),
    sampler_seed=dict(type='DistSamplerSeedHook'),
    runtime_info=dict(type='DeferredInfoHook'),
    nonfinite=dict(type='NonFiniteHook', policy='raise'),
    throughput=dict(type='ThroughputHook'),
    health=dict(type='HealthHook'),
    environment=dict(type='EnvironmentHook'),
)
custom_hooks = [dict(type='BannerHook'), dict(type='UnreadableImagesHook')]
env_cfg = dict(
    cudnn_benchmark=True,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'),
)
visualizer = dict(type='Visualizer', vis_backends=[dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')])
randomness = dict(seed=7)  # the PatchMix authors' seed
load_from = None
resume = False

# Loaders. A data set's file adds the images; the method's config adds the views. Of these, the device does colours,
# blurs and flips for a batch at once; views='pillow' (tools/train.py --views pillow) runs all steps on the CPU.
train_dataloader = dict(
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=True,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='KeyedSampler', shuffle=True),
    dataset=dict(views='device'),
)
val_dataloader = dict(
    batch_size=256,
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=False,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=False),
)
# kNN votes among the training images, without augmentation.
val_cfg = dict(type='FeatureLoop', bank_dataloader=val_dataloader)
val_evaluator = dict(type='KNNAccuracy', neighbours=(10, 20), temperature=0.07)
test_dataloader = val_dataloader
test_cfg = val_cfg
test_evaluator = dict(type='KNNAccuracy', neighbours=(10, 20, 100, 200), temperature=0.07)
# ImageNet's mean and standard deviation, in RGB order. The pipelines give BGR.
data_preprocessor = dict(
    type='mixcl.ViewPreprocessor', mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True
)

# The first and the last step of a pipeline, and the crop; a data set of another size changes them.
load = dict(type='LoadImage')
crop = dict(type='mmpretrain.RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic')
pack = dict(type='mmpretrain.PackInputs')
evaluation_pipeline = [
    load,
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    pack,
]

# What follows (or, for a flip, may precede) the crop, by method. All draw from generators that the view's key starts.
flip = dict(type='RandomFlip', prob=0.5)
gray = dict(type='RandomGrayscale', prob=0.2, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989))  # BGR
blur_often, blur_rarely, blur_half = [
    dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=prob)
    for prob in (1.0, 0.1, 0.5)
]
jitter_mild, jitter_strong, jitter_always_strong_hue, jitter_very_strong = [
    dict(
        type='RandomApply',
        prob=prob,
        transforms=dict(
            type='mmpretrain.ColorJitter',
            brightness=strength,
            contrast=strength,
            saturation=saturation,
            hue=hue,
            backend='pillow',
        ),
    )
    for prob, strength, saturation, hue in [
        (0.8, 0.4, 0.2, 0.1),
        (0.8, 0.4, 0.4, 0.1),
        (1.0, 0.4, 0.4, 0.4),
        (0.8, 0.8, 0.8, 0.2),
    ]
]
solarize = dict(type='mmpretrain.Solarize', thr=128, prob=0.2)
# BYOL, MoCo v3, PatchMix, SDMP, DINO, APS: the two views differ in how often they blur and solarise.
byol_steps = [
    [jitter_mild, gray, blur_often, flip],
    [jitter_mild, gray, blur_rarely, solarize, flip],
]
local_steps = [jitter_mild, gray, blur_half, flip]  # of local crops
mocov2_steps = [jitter_strong, gray, blur_half, flip]  # also MixCo, SimSiam
mocov1_steps = [gray, jitter_always_strong_hue, flip]
simclr_steps = [flip, jitter_very_strong, gray, blur_half]
cifar_steps = [flip, jitter_strong, gray]  # APS and i-mix on CIFAR
