"""Keyword arguments of a class or function with their types, and the keys of its ``arch``."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mixcl.recipes.checks.annotations import type_of


class Keywords(NamedTuple):
    """Keyword arguments of a class or function: the known names, whether it also takes any other, and the types."""

    names: frozenset[str]
    open: bool
    types: Mapping[str, Any]


@functools.cache
def accepted_keywords(factory: Callable[..., Any]) -> Keywords:
    """Collect the keyword arguments of a class or function and, through ``**kwargs``, of its bases.

    The result is ``open`` if ``**kwargs`` are not plainly passed on to a base, or if there is no signature (C code).
    """
    owners = factory.__mro__[:-1] if isinstance(factory, type) else ()
    calls = [vars(owner)['__init__'] for owner in owners if '__init__' in vars(owner)] if owners else [factory]
    names: set[str] = set()
    types: dict[str, Any] = {}
    is_open = not calls and factory.__new__ is not object.__new__
    try:
        for call in calls:
            parameters = inspect.signature(call).parameters.values()
            known = getattr(inspect.unwrap(call), '__globals__', {})
            named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != 'self']
            names |= {parameter.name for parameter in named}
            types = {parameter.name: type_of(parameter, known) for parameter in named} | types
            variadic = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
            if variadic:
                source = inspect.getsource(inspect.unwrap(call))
                names |= set(re.findall(rf"\b{variadic}\.\w+\(\s*'(\w+)'", source))
                is_open |= not re.search(rf'\.__init__\(([^()]|\([^()]*\))*\*\*{variadic}', source)
            elif call is calls[0]:
                break
    except (TypeError, ValueError, OSError):
        return Keywords(frozenset(), True, {})
    return Keywords(frozenset(names), is_open, types)


@functools.cache
def arch_keys_of(factory: Callable[..., Any]) -> frozenset[str] | None:
    """Collect the keys of the dict ``arch`` of one of mmpretrain's transformers; None for other classes.

    These are the keys of its named sizes and, since a class may read more, all quoted words of its source.
    """
    sizes = getattr(factory, 'arch_zoo', None)
    if not (inspect.isclass(factory) and isinstance(sizes, dict) and all(isinstance(s, dict) for s in sizes.values())):
        return None
    source = ''.join(inspect.getsource(cls) for cls in factory.__mro__ if hasattr(cls, 'arch_zoo'))
    words = source.replace('"', "'").split("'")
    return frozenset({key for size in sizes.values() for key in size} | {word for word in words if word.isidentifier()})
