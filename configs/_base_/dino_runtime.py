# The default runtime, and what DINO adds: prototypes frozen in the first epoch, each gradient clipped at 3.
_base_ = './default_runtime.py'

custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='FrozenPrototypesHook', epochs=1),
    dict(type='ParameterClipHook', max_norm=3.0),
]
