# Runtime of fine-tuning: an average of the weights (decay .99996) is stored, the trained weights are evaluated.
_base_ = './runtime.py'

custom_hooks = [
    dict(type='BannerHook'),
    dict(type='UnreadableImagesHook'),
    dict(type='StoredAverageHook', momentum=4e-5),
]
