# The default runtime, and DINO's prototypes frozen in the first epoch.
_base_ = './default_runtime.py'

custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='FrozenPrototypesHook', epochs=1),
]
