"""Imports that print to the terminal, done once without the print."""

import contextlib
import io

from mmengine.logging import MMLogger

from mixcl.quiet_log import quieten

quieten(MMLogger.get_instance('mmengine'))  # mmdet tells everyone that an operator of mmcv is not compiled

with contextlib.redirect_stdout(io.StringIO()):
    import mmpretrain.datasets  # noqa: F401  (tells everyone that an optional package is missing)
