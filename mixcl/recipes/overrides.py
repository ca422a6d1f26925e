"""Values that the command line sets by their dotted names (``--cfg-options``)."""

import copy
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.paths import RUNNER_KEYS
from mixcl.recipes.typed import suggested


def override(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Merge overrides into a config, in place; raises UserError for the first that cannot have its intended effect.

    A top-level variable of the config itself has already been copied to the places that use it, so overriding it has
    no effect. ``check_config`` finds new keys that nothing reads.
    """
    for key, value in overrides.items():
        name = key.partition('.')[0]
        if name in cfg and name not in RUNNER_KEYS:
            hint = ', or pass `data_root=DIR`' if name == 'data_root' else ''
            raise UserError(
                f'`cfg_options` {key}={value} has no effect: {name!r} is a variable that the config has already used; '
                f'override the places that use it, which mixcl print-config shows{hint}'
            )
        if name not in RUNNER_KEYS:
            hint = '; pass `data_root=DIR`' if key == 'data_root' else suggested(name, {*RUNNER_KEYS, *cfg})
            raise UserError(f'`cfg_options` {key}={value}: the config has no {name!r}{hint}')
    merge(cfg, overrides)


def merge(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Merge values by dotted names into a config, in place; raises UserError if one cannot be merged."""
    try:
        copy.deepcopy(cfg).merge_from_dict(copy.deepcopy(dict(overrides)))  # a merge may fail half way
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        options = ' '.join(f'{key}={value}' for key, value in overrides.items())
        raise UserError(
            f'`cfg_options` {options}: {" ".join(str(error).split())}; a list of values is set as a whole, and what '
            'is no dict becomes one with NAME._delete_=True'
        ) from error
    cfg.merge_from_dict(dict(overrides))
