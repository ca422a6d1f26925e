"""Strict checking of the keys of a config, before anything is built."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config

from mixcl.configuration.annotations import expected_type
from mixcl.configuration.keys import Acceptor, acceptors
from mixcl.configuration.paths import RUNNER_KEYS, Path, children, readable, runner_sections
from mixcl.configuration.ranges import expected_range, uneven_heads
from mixcl.configuration.spelling import slip_of, suggest
from mixcl.errors import UserError


def check_config(cfg: Config) -> None:
    """Compare every key of a config with what reads it; nothing is built, but the classes are imported.

    A dict with a ``type`` may have the keyword arguments of what ``type`` names, through ``**kwargs`` to its bases,
    and the keys that mmengine takes out first. Dataloaders and the Runner's other sections may have what mmengine
    reads. A top-level name that resembles one of the Runner's is refused; any other is the config's own variable,
    and neither it nor a name that starts with an underscore is looked into. Required arguments are not checked. Values
    are compared with the types that constructors write down, and numbers with the ranges that their names imply.

    Raises:
        UserError: names every unknown key and every unknown ``type`` with its place, and suggests a similar one; names
            every value that cannot be meant.
    """
    scope = cfg.get('default_scope') or 'mmengine'
    problems = [*_misspelt_sections(cfg), *_hooks_without_type(cfg)]
    for name, section in runner_sections(cfg):
        problems.extend(_problems(section, (name,), scope, None, cfg))
    problems = list(dict.fromkeys(problems))
    if len(problems) > 1:
        raise UserError('\n  '.join([f'config: {len(problems)} problems:', *problems]))
    if problems:
        raise UserError(f'config: {problems[0]}')


def _misspelt_sections(cfg: Config) -> Iterator[str]:
    for name in cfg:
        known = slip_of(name, RUNNER_KEYS)
        if known and not name.startswith('_'):
            yield f'{name} is read by nothing; did you mean {known!r}?'


def _hooks_without_type(cfg: Config) -> Iterator[str]:
    hooks = cfg.get('default_hooks') or {}
    names = [name for name, hook in hooks.items() if isinstance(hook, Mapping) and 'type' not in hook]
    for name in names:
        yield f"default_hooks.{name} has no 'type'{suggest(name, set(hooks) - set(names))}"


def _problems(node: Any, path: Path, scope: str, owner: str | None, parent: Any) -> Iterator[str]:
    """Yield what is wrong with a value and everything below it."""
    if isinstance(node, Mapping):
        scope = node.get('_scope_') or scope
        try:
            candidates = acceptors(node, path, scope, owner, parent)
        except UserError as error:
            yield f'{readable(path)} has type={error}'
            candidates = []
        yield from _unknown_keys(node, path, candidates)
        yield from _wrong_values(node, path, candidates)
        owner = candidates[0].package if candidates else owner
    for key, child in children(node):
        yield from _problems(child, (*path, key), scope, owner, node)


def _unknown_keys(node: Mapping[str, Any], path: Path, candidates: list[Acceptor]) -> Iterator[str]:
    if not candidates:
        return
    best = min(candidates, key=lambda candidate: len(candidate.unknown(node)))
    for key in best.unknown(node):
        hint = suggest(key, best.keys)
        yield f'{readable(path)} has an unknown key {key!r} for {best.label}{hint}'
    arch = node.get('arch')
    if best.arch_keys and isinstance(arch, Mapping):
        for key in sorted(set(arch) - best.arch_keys):
            hint = suggest(key, best.arch_keys)
            yield f'{readable((*path, "arch"))} has an unknown key {key!r} for {best.label}{hint}'


def _wrong_values(node: Mapping[str, Any], path: Path, candidates: list[Acceptor]) -> Iterator[str]:
    best = min(candidates, key=lambda candidate: len(candidate.unknown(node)), default=None)
    for key, value in node.items():
        expected = expected_range(key, value)
        if expected is None and best is not None and key in best.annotations:
            expected = expected_type(value, best.annotations[key])
        if expected is not None:
            yield f'{readable((*path, key))}={value!r} must be {expected}'
    if uneven_heads(node):
        width, heads = node['embed_dims'], node['num_heads']
        yield f'{readable(path)} has embed_dims={width}, which num_heads={heads} does not divide'
