"""Whether data folders hold what the data sets of a config expect, told before anything is loaded."""

import copy
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.configuration.data_roots import DATA_SECTIONS
from mixcl.configuration.paths import walk
from mixcl.errors import UserError
from mixcl.registry import DATASETS


def check_layouts(cfg: Config) -> None:
    """Ask every data set of a config that has a ``check_layout``: a look at folders and lists, but not at images.

    Raises:
        UserError: what the first data set that does not fit says.
    """
    for _, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        kind = DATASETS.get(node['type']) if isinstance(node, Mapping) and isinstance(node.get('type'), str) else None
        if hasattr(kind, 'check_layout'):
            _built(copy.deepcopy(dict(node))).check_layout()


def _built(settings: dict) -> object:
    try:
        with DefaultScope.overwrite_default_scope('mixcl'):
            return DATASETS.build({**settings, 'lazy_init': True})
    except UserError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UserError(
            f'the data set {settings["type"]} cannot be built: {" ".join(str(error).split())}; correct the config'
        ) from error
