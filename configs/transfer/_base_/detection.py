# What detection with mmdet needs from mixcl. First of the bases, so that a missing package is said in one sentence.
from importlib import import_module

import_module('mixcl.detection')
custom_imports = dict(imports=['mixcl.detection'], allow_failed_imports=False)
custom_hooks = [
    dict(type='mixcl.BannerHook'),
    dict(type='mixcl.UnreadableImagesHook'),
    dict(type='mixcl.ThroughputHook'),
]
# For default_hooks, which mmdet's own bases name too.
checkpoint_hook = dict(type='mixcl.CheckpointHook', max_keep_ckpts=2)
nonfinite_hook = dict(type='mixcl.NonFiniteHook', policy='raise')
