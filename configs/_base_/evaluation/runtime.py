# Runtime of classifiers: that of pretraining, without what looks at its representations.
_base_ = '../default_runtime.py'

custom_hooks = [dict(type='BannerHook'), dict(type='UnreadableImagesHook')]
