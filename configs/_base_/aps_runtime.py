# The default runtime, and the adaptive clip of APS.
_base_ = './default_runtime.py'

custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05),
]
