"""Imports that print to the terminal, done once without the print."""

import contextlib
import io

from mmengine.logging import MMLogger
from mmpretrain.utils import dependency

from mixcl.quiet_log import quieten

quieten(MMLogger.get_instance('mmengine'))  # mmdet tells everyone that an operator of mmcv is not compiled

# With transformers 5 these models fail while they are imported, and mmpretrain with them; with 4 they take seconds.
dependency.WITH_MULTIMODAL = False

with contextlib.redirect_stdout(io.StringIO()):
    import mmpretrain.datasets  # noqa: F401  (tells everyone that an optional package is missing)
