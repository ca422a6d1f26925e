"""Refuse ``--cfg-options`` that would change nothing, or that name a place that does not exist."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, DictAction

from mixcl.configuration.keys import acceptors
from mixcl.configuration.paths import RUNNER_KEYS, Path, dotted, runner_sections, walk
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

    A top-level variable of the config itself has already been copied to the places that use it, so that overriding
    it has no effect. New keys may be set in an existing dict (``check_config`` tells afterwards if they are
    misspelt), and a new dict where the class around it takes one (``model.backbone.init_cfg.type=Pretrained``).

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
    option = f'--cfg-options {dotted(path)}'
    parent, node, scope = None, cfg, cfg.get('default_scope') or 'mmengine'
    for depth, part in enumerate(path):
        here = path[:depth]
        if isinstance(node, list):
            _check_index(node, path, depth, overrides[dotted(path)])
            parent, node = node, node[int(part)]
        elif not isinstance(node, (Mapping, Config)):
            if overrides.get(f'{dotted(here)}._delete_'):
                return
            raise UserError(
                f'{option}: {dotted(here)} is {node!r}, which has no parts; set it as a whole, '
                f'or add {dotted(here)}._delete_=True to replace it by a dict'
            )
        elif part in node:
            scope = node.get('_scope_') or scope
            parent, node = node, node[part]
        else:
            if depth not in (0, len(path) - 1) and not _takes_new_dict(
                node, path[: depth + 1], scope, parent, overrides
            ):
                raise UserError(f'{option}: {dotted(here)} has no {part!r}{suggest(part, node)}')
            return


def _check_index(node: list[Any], path: tuple[str, ...], depth: int, value: Any) -> None:
    """Check ``path[depth]``, an index into a list; mmengine merges dicts into elements but cannot set others."""
    here, index = dotted(path[:depth]), path[depth]
    option = f'--cfg-options {dotted(path)}'
    if not index.isdecimal() or int(index) >= len(node):
        known = f'use an index from 0 to {len(node) - 1}' if node else 'it is empty'
        raise UserError(f'{option}: {here} is a list of {len(node)} and has no {index!r}; {known}')
    if depth == len(path) - 1 and not (isinstance(value, dict) and isinstance(node[int(index)], dict)):
        raise UserError(f'{option}: an element of a list cannot be set alone; give the whole list {here}')


def _takes_new_dict(
    node: Mapping[str, Any], path: tuple[str, ...], scope: str, parent: Any, overrides: Mapping[str, Any]
) -> bool:
    """Tell whether the dict ``node`` may get a new dict at ``path`` (its last part is the new key)."""
    here = _indexed(path[:-1])
    new_type = overrides.get(f'{dotted(here)}.type')
    node = {**node, 'type': new_type} if new_type else node
    try:
        candidates = acceptors(node, here, scope, parent=parent)
    except UserError:  # its type names nothing: check_config will say so
        return True
    if not candidates:
        return f'{dotted(path)}.type' in overrides
    return any(not candidate.unknown([path[-1]]) for candidate in candidates)


def _used_variable(cfg: Config, path: tuple[str, ...]) -> str:
    places = _places_of(cfg, path)
    text = f'{path[0]!r} is a variable that the config has already used; override the place that uses it'
    if places:
        text += f', for example {" or ".join(dotted(place) for place in places)}'
        value = _value_at(cfg, path)
        text += '' if value is None or isinstance(value, (dict, list, tuple)) else f' (now {value!r})'
    return text + (', or pass --data-root' if path[-1] == 'data_root' else '')


def _places_of(cfg: Config, path: tuple[str, ...], limit: int = 3) -> list[Path]:
    """Find up to ``limit`` places with the value of a variable, or of the part of it that ``path`` names."""
    for length in range(1, len(path) + 1):
        value, rest = _value_at(cfg, path[:length]), path[length:]
        places = [
            place
            for name, section in runner_sections(cfg)
            for place, found in walk(section, (name,))
            if type(found) is type(value) and found == value
        ]
        same_name = [place for place in places if place[-1] == path[length - 1]]
        telling = value not in (None, '', True, False)
        if same_name or (places and telling):
            return [(*place, *rest) for place in (same_name or places)[:limit]]
    return []


def _value_at(cfg: Config, path: tuple[str, ...]) -> Any:
    node: Any = cfg
    for part in path:
        if isinstance(node, (list, tuple)):
            node = node[int(part)] if part.isdecimal() and int(part) < len(node) else None
        elif isinstance(node, (Mapping, Config)):
            node = node.get(part)
        else:
            return None
    return node


def _indexed(path: tuple[str, ...]) -> Path:
    return tuple(int(part) if part.isdecimal() else part for part in path)
