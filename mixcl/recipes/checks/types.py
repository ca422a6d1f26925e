"""Lookup of what the ``type`` of a config dict names, in all registries."""

import difflib
import functools
import importlib.util
from collections.abc import Callable
from importlib import import_module
from typing import Any

import mmcv.cnn
import mmcv.transforms  # noqa: F401  (with mmcv.cnn: fills mmengine's registries)
from mmengine.registry import Registry
from mmengine.utils import get_object_from_string

import mixcl.quiet_imports  # noqa: F401
from mixcl.errors import UserError

Factory = Callable[..., Any]

OPERATOR_PLACES = frozenset({'nms', 'roi_layer'})
"""Keys under which mmdet's configs name a function or class of ``mmcv.ops``, which no registry holds."""


def find_factories(name: str | Factory, scope: str, owner: str | None = None, key: str | int = '') -> list[Factory]:
    """Find everything that ``type=name`` may build; the same name may live in several registries.

    Args:
        name: a name, a name with a scope (``'mmpretrain.ImageClassifier'``), the full name of an object
            (``'torch.nn.GELU'``) or the object itself.
        scope: the package whose registries are asked first (``default_scope`` or ``_scope_``).
        owner: the package of the class that the dict is an argument of; its registries are asked last.
        key: the key of the dict.

    Raises:
        UserError: if nothing has that name; the message suggests a similar one.
    """
    if callable(name):
        return [name]
    package, _, rest = name.partition('.')
    registries = _registries(package) if rest else ()
    known_as = rest if registries else name
    if not registries:
        # for normalisation layers mmpretrain asks its own registry, whatever the scope
        owned = (one for one in _registries(owner or '') if key == 'norm_cfg' or scope not in one.root.children)
        registries = (*_registries(scope), *_registries('mmengine'), *owned)
    found: list[Any] = [registry.module_dict[known_as] for registry in registries if known_as in registry.module_dict]
    if not found and rest and package.isidentifier():
        found = [get_object_from_string(name)]
    if not found and key in OPERATOR_PLACES:
        found = [getattr(import_module('mmcv.ops'), name, None)]
    found = [factory for factory in found if callable(factory)]
    if not found:
        raise UserError(_unknown(name, scope))
    return found


def package_of(factory: Factory) -> str:
    """Name the package that a class or function comes from, for example ``'mmpretrain'``."""
    return (getattr(factory, '__module__', None) or 'builtins').partition('.')[0]


@functools.cache
def _registries(package: str) -> tuple[Registry, ...]:
    """Return all registries of a package, with their classes imported; none if there is no package or registry."""
    if not package.isidentifier():
        return ()
    try:
        module = import_module(f'{package}.registry')
    except ModuleNotFoundError:
        return ()
    registries = [item for item in vars(module).values() if isinstance(item, Registry) and item.scope == package]
    try:
        for registry in registries:
            registry.import_from_location()
    except (ImportError, AssertionError) as error:
        raise UserError(f'the classes of {package} cannot be imported: {error}') from error
    return tuple(registries)


def _unknown(name: str, scope: str) -> str:
    package, _, rest = name.partition('.')
    if rest and package.isidentifier() and importlib.util.find_spec(package) is None:
        return f'{name!r}, but the package {package!r} is not installed'
    full = {
        name: name if package in (scope, 'mmengine') and not rest else f'{package}.{name}'
        for package in ([package] if rest else ['mmpretrain', 'mmengine', scope])
        for registry in _registries(package)
        for name in registry.module_dict
    }
    similar = difflib.get_close_matches(rest or name, full, n=1)
    advice = (
        f'did you mean {full[similar[0]]!r}?'
        if similar
        else 'for a class of your own, name its module in custom_imports'
    )
    return f'{name!r}, which no registry knows; {advice}'
