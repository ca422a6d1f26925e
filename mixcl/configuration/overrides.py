"""Refuse ``--cfg-options`` that would change nothing, or that name a place that does not exist."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, DictAction

from mixcl.configuration.paths import RUNNER_KEYS, dotted, runner_sections, walk
from mixcl.configuration.spelling import suggest
from mixcl.errors import UserError


class OverrideAction(DictAction):
    """``NAME=VALUE ...`` on the command line; mmengine's action, which ends in a traceback where it cannot read."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: list[str], *rest: Any) -> None:
        try:
            super().__call__(parser, namespace, values, *rest)
        except (ValueError, AssertionError, IndexError, RecursionError) as error:
            raise UserError(
                f'{self.option_strings[0]} {" ".join(values)} cannot be read; write NAME=VALUE, where a value is a '
                'number, a text, a [list] or a (tuple), and set the parts of a dict by names such as '
                'model.mixer.num_mix'
            ) from error


def check_overrides(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Check overrides before they are merged into a config.

    A top-level variable of the config itself has already been copied to the places that use it, so overriding it has
    no effect. New keys may be set in existing dicts: whether something reads them is for ``check_config`` to say, when
    they are merged.

    Args:
        cfg: the config as read from its file.
        overrides: values by dotted path, as ``--cfg-options`` gives them; list indices are parts of the path.

    Raises:
        UserError: for the first override that cannot do what was meant.
    """
    for key, value in overrides.items():
        path = tuple(key.split('.'))
        if path[0] in RUNNER_KEYS:
            _check_place(cfg, path, overrides)
        elif path[0] in cfg:
            raise UserError(f'--cfg-options {key}={value} has no effect: {_used_variable(cfg, path)}')
        else:
            hint = '; pass --data-root DIR' if key == 'data_root' else suggest(path[0], {*RUNNER_KEYS, *cfg})
            raise UserError(f'--cfg-options {key}={value}: the config has no {path[0]!r}{hint}')


def _check_place(cfg: Config, path: tuple[str, ...], overrides: Mapping[str, Any]) -> None:
    """Follow a path as far as it exists; mmengine can merge into dicts, and into dicts that are elements of lists."""
    node: Any = cfg
    option, value = f'--cfg-options {dotted(path)}', overrides[dotted(path)]
    for depth, part in enumerate(path):
        here = dotted(path[:depth])
        if isinstance(node, list):
            if not part.isdecimal() or int(part) >= len(node):
                known = f'use an index from 0 to {len(node) - 1}' if node else 'it is empty'
                raise UserError(f'{option}: {here} is a list of {len(node)} and has no {part!r}; {known}')
            node = node[int(part)]
            if depth == len(path) - 1 and not (isinstance(value, dict) and isinstance(node, dict)):
                raise UserError(f'{option}: an element of a list cannot be set alone; give the whole list {here}')
        elif isinstance(node, (Mapping, Config)):
            if part not in node:
                return
            node = node[part]
        elif not overrides.get(f'{here}._delete_'):
            raise UserError(
                f'{option}: {here} is {node!r}, which has no parts; set it as a whole, or add {here}._delete_=True to '
                'replace it by a dict'
            )
        else:
            return


def _used_variable(cfg: Config, path: tuple[str, ...]) -> str:
    """Say which places have the value of a variable, or of the part of it that a path names; the same name first."""
    value = _value_at(cfg, path)
    places = [
        place
        for name, section in runner_sections(cfg)
        for place, found in walk(section, (name,))
        if value not in (None, '', True, False) and type(found) is type(value) and found == value
    ]
    same_name = [place for place in places if place[-1] == path[-1]]
    text = f'{path[0]!r} is a variable that the config has already used; override the place that uses it'
    if places:
        text += f', for example {" or ".join(dotted(place) for place in (same_name or places)[:3])}'
        text += '' if isinstance(value, (dict, list, tuple)) else f' (now {value!r})'
    return text + (', or pass --data-root' if path[-1] == 'data_root' else '')


def _value_at(cfg: Config, path: tuple[str, ...]) -> Any:
    node: Any = cfg
    try:
        for part in path:
            node = node[int(part) if isinstance(node, (list, tuple)) else part]
    except (LookupError, TypeError, ValueError):
        return None
    return node
