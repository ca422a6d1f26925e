# What detection with mmdet needs from mixcl. First of the bases, so that a missing package is said in one sentence.
from importlib import import_module

import_module('mixcl.detection')
custom_imports = dict(imports=['mixcl.detection'], allow_failed_imports=False)
custom_hooks = [dict(type='mixcl.BannerHook')]
