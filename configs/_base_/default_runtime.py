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
