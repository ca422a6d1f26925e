"""Strict checking of the keys of a config, before anything is built."""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.recipes.checks.annotations import mistyped
from mixcl.recipes.checks.keys import Acceptor, acceptors, meant_key, suggest
from mixcl.recipes.checks.signature import accepted_keywords
from mixcl.recipes.checks.values import empty_pipelines
from mixcl.recipes.paths import RUNNER_KEYS, Path, children, readable, runner_sections
from mixcl.setting_ranges import wrong_values


def check_config(cfg: Config) -> None:
    """Check every key of a config against what reads it. Nothing is built, but the classes are imported.

    A dict with a ``type`` may have the keyword arguments of what ``type`` names and, through ``**kwargs``, of its
    bases. Other sections may have what mmengine reads. A top-level name that resembles one of the Runner's is refused;
    any other is a variable of the config itself, which is not checked. Values must have the types of the parameters
    and lie in the ranges of :mod:`mixcl.setting_ranges`; the rest is left to the constructors.

    Raises:
        UserError: names every unknown key and ``type``, with its place and a similar name, and every wrong value.
    """
    scope = cfg.get('default_scope') or 'mmengine'
    problems = []
    for name in cfg:
        known = meant_key(name, RUNNER_KEYS)
        if known and not name.startswith('_'):
            problems.append(f'{name} is read by nothing; did you mean {known!r}?')
    for path, value in empty_pipelines(cfg):
        problems.append(f'{readable(path)}={reprlib.repr(value)} must be a list of transforms, at least one')
    for name, wanted in mistyped(dict(runner_sections(cfg)), accepted_keywords(Runner.__init__).types):
        problems.append(f'{name}={reprlib.repr(cfg[name])} must be {wanted}')
    for name, section in runner_sections(cfg):
        problems.extend(_problems(section, (name,), scope, None, cfg))
    problems = list(dict.fromkeys(problems))
    if problems:
        count = f'{len(problems)} problems:\n  ' if len(problems) > 1 else ''
        raise UserError(f'config: {count}' + '\n  '.join(problems))


def _problems(node: Any, path: Path, scope: str, owner: str | None, parent: Any) -> Iterator[str]:
    """Yield what is wrong with a value and everything below it."""
    if isinstance(node, Mapping):
        scope = node.get('_scope_') or scope
        try:
            candidates = acceptors(node, path, scope, owner, parent)
        except UserError as error:
            yield f'{readable(path)} has type={error}'
            candidates = []
        wrong = dict(wrong_values(node))
        if candidates:
            acceptor = min(candidates, key=lambda one: len(one.unknown(node)))
            yield from _unknown_keys(node, path, acceptor)
            wrong = dict(mistyped(node, acceptor.types)) | wrong
            owner = candidates[0].package
        for key, expected in wrong.items():
            yield f'{readable((*path, key))}={node[key]!r} must be {expected}'
    for part, child in children(node):
        yield from _problems(child, (*path, part), scope, owner, node)


def _unknown_keys(node: Mapping[str, Any], path: Path, acceptor: Acceptor) -> Iterator[str]:
    for key in acceptor.unknown(node):
        # mmengine keeps the settings of the class that was there before.
        drop = f'; of the class that stood there before, {readable((*path, "_delete_"))}=True drops all settings'
        hint = suggest(key, acceptor.keys) or (drop if 'type' in node else '')
        yield f'{readable(path)} has an unknown key {key!r} for {acceptor.label}{hint}'
    arch = node.get('arch')
    if acceptor.arch_keys and isinstance(arch, Mapping):
        for key in sorted(set(arch) - acceptor.arch_keys):
            place, hint = readable((*path, 'arch')), suggest(key, acceptor.arch_keys)
            yield f'{place} has an unknown key {key!r} for {acceptor.label}{hint}'
