# What detection with mmdet needs from mixcl. It is the first base, so that one sentence reports a missing package.
from importlib import import_module

import_module('mixcl.detection')
custom_imports = dict(imports=['mixcl.detection'], allow_failed_imports=False)
custom_hooks = [
    dict(type='mixcl.BannerHook'),
    dict(type='mixcl.UnreadableImagesHook'),
    dict(type='mixcl.ThroughputHook'),
]
# For default_hooks in other files, since mmdet's own bases set default_hooks too.
checkpoint_hook = dict(type='mixcl.CheckpointHook', max_keep_ckpts=2)
nonfinite_hook = dict(type='mixcl.NonFiniteHook', policy='raise')
