"""What classes and functions tell of the values of their arguments."""

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

NUMBERS = {int: 'an integer', float: 'a number', bool: 'True or False', str: 'a text', type(None): 'None'}
COLLECTIONS = {list: 'a list', tuple: 'a list', Sequence: 'a list', dict: 'a dict', Mapping: 'a dict'}


@functools.cache
def annotations_of(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """The types of the arguments of a class or a function, through the constructors of its bases.

    Where None is the default, None is among the types. Types written as text are left out.
    """
    found: dict[str, Any] = {}
    for function in _constructors(factory):
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        for parameter in parameters:
            hint = parameter.annotation
            if hint is not parameter.empty and not isinstance(hint, str):
                found.setdefault(parameter.name, Union[hint, None] if parameter.default is None else hint)  # noqa: UP007
    return found


@functools.cache
def arch_keys_of(factory: Callable[..., Any]) -> frozenset[str] | None:
    """The keys of the dict ``arch`` of mmpretrain's transformers: those of its named sizes, and those that its source
    mentions; None for a class without such sizes."""
    sizes = getattr(factory, 'arch_zoo', None)
    if not isinstance(sizes, dict) or not all(isinstance(size, dict) for size in sizes.values()):
        return None
    keys = {key for size in sizes.values() for key in size}
    try:
        source = ''.join(inspect.getsource(cls) for cls in factory.__mro__ if hasattr(cls, 'arch_zoo'))
    except (OSError, TypeError):
        source = ''
    words = set(source.replace('"', "'").split("'"))
    return frozenset(keys | {word for word in words if word.isidentifier()})


def expected_type(value: Any, hint: Any) -> str | None:
    """What a value should have been, in words, or None if it may be of that type.

    Only what can be told for sure is: plain values against plain types and collections. A dict may be the config of
    anything, and an object is what it is.
    """
    if fits(value, hint):
        return None
    words = [
        NUMBERS.get(option) or COLLECTIONS.get(get_origin(option) or option) or str(option) for option in _options(hint)
    ]
    return ' or '.join(dict.fromkeys(words))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value may be of a type; True where that cannot be told."""
    options = _options(hint)
    return any(_fits_one(value, option) for option in options)


def _options(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(inner for option in get_args(hint) for inner in _options(option))
    return (type(None),) if hint is None else (hint,)


def _fits_one(value: Any, option: Any) -> bool:
    if get_origin(option) is Literal:
        return value in get_args(option)
    kind = get_origin(option) or option
    if kind is tuple:
        return not isinstance(value, (bool, str, type(None)))  # mmcv means by it also one number for all sides
    if kind in COLLECTIONS:
        return not isinstance(value, (bool, int, float, type(None)))
    if kind not in NUMBERS:
        return True
    if isinstance(value, Mapping) and kind is not type(None):
        return 'type' in value  # becomes something else
    if kind is bool:
        return isinstance(value, bool) or value in (0, 1)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _constructors(factory: Callable[..., Any]) -> list[Callable[..., Any]]:
    if not inspect.isclass(factory):
        return [factory]
    return [vars(cls)['__init__'] for cls in factory.__mro__ if '__init__' in vars(cls)]
