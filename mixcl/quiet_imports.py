"""Imports that print to the terminal or take seconds for nothing, done once without that."""

import contextlib
import io
import sys

was_loaded = 'transformers' in sys.modules
if not was_loaded:
    sys.modules['transformers'] = None  # type: ignore[assignment]  # mmengine imports it for a single optimiser

from mmengine.logging import MMLogger  # noqa: E402
from mmpretrain.utils import dependency  # noqa: E402

from mixcl.quiet_log import quieten  # noqa: E402

quieten(MMLogger.get_instance('mmengine'))  # mmdet tells everyone that an operator of mmcv is not compiled

# With transformers 5 these models fail while they are imported, and mmpretrain with them; with 4 they take seconds.
dependency.WITH_MULTIMODAL = False

with contextlib.redirect_stdout(io.StringIO()):
    import mmpretrain.datasets  # noqa: F401  (tells everyone that an optional package is missing)

if not was_loaded:
    del sys.modules['transformers']
