"""Import of mmpretrain before the rest of mixcl imports it: prints nothing, and works with transformers 5."""

import contextlib
import io
import logging

from mmengine.logging import MMLogger
from mmpretrain.utils import dependency

from mixcl.starting import without_warnings_of_others

MMLogger.get_current_instance()  # mmpretrain would make it below, bound to the output that is dropped there

kept, told = dependency.WITH_MULTIMODAL, logging.root.manager.disable
# With transformers 5 the multimodal models fail to import, and mmpretrain with them.
dependency.WITH_MULTIMODAL = kept and not dependency.satisfy_requirement('transformers>=5')
logging.disable(logging.WARNING)  # about operators of mmcv that are not compiled
with contextlib.redirect_stdout(io.StringIO()), without_warnings_of_others():  # about packages that are not installed
    import mmpretrain.datasets
    import mmpretrain.models  # noqa: F401
logging.disable(told)
dependency.WITH_MULTIMODAL = kept
