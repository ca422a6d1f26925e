"""mmpretrain, imported before anything else of mixcl imports it: so that it can be, and says nothing meanwhile."""

import contextlib
import io
import logging

from mmengine.logging import MMLogger
from mmpretrain.utils import dependency

from mixcl.starting import without_warnings_of_others

MMLogger.get_current_instance()  # mmpretrain would make it now, to print where its own output is dropped

kept, told = dependency.WITH_MULTIMODAL, logging.root.manager.disable
# With transformers 5 these models fail while they are imported, and mmpretrain with them.
dependency.WITH_MULTIMODAL = kept and not dependency.satisfy_requirement('transformers>=5')
logging.disable(logging.WARNING)  # of operators of mmcv that are not compiled
with contextlib.redirect_stdout(io.StringIO()), without_warnings_of_others():  # and packages that are not installed
    import mmpretrain.datasets
    import mmpretrain.models  # noqa: F401
logging.disable(told)
dependency.WITH_MULTIMODAL = kept
