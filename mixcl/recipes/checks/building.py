"""Errors from building the parts of a config, reported with the place in the config."""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mmengine.config import Config

from mixcl.errors import as_user_error
from mixcl.recipes.paths import readable, walk


@contextmanager
def built_from(cfg: Config) -> Iterator[None]:
    """Turn a constructor's error about its arguments into a UserError that names the dict of the config."""
    try:
        yield
    except Exception as error:
        with as_user_error(place_of(error, cfg)):
            raise


def place_of(error: Exception, cfg: Config) -> str:
    """Return the place in a config of the dict that was being built when the error was raised, or ``the config``."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == 'build_from_cfg']
    given = [frame.f_locals.get('cfg') for frame in reversed(frames)]
    for settings in (one for one in given if isinstance(one, Mapping)):
        for path, node in walk(dict(cfg.items())):
            if isinstance(node, Mapping) and 'type' in node and {key: settings.get(key) for key in node} == node:
                return readable(path)
    return 'the config'
