"""Checks of a value's type against the annotation of the parameter that takes it."""

import inspect
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import torch

WORDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ('True or False', (bool,)),
    int: ('a number', (int, float)),
    float: ('a number', (int, float)),
    str: ('a text', (str, int, float)),
    torch.Tensor: ('a number', (int, float)),
}
"""Words for each annotation of a plain value, and the accepted types. A bool does not count as a number."""


def type_of(parameter: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    """Return a parameter's annotation, evaluated with ``names``; without one, the type of a default bool or number."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return type(parameter.default) if isinstance(parameter.default, (bool, int, float)) else Any
    try:
        kind = eval(annotation, dict(names)) if isinstance(annotation, str) else annotation
    except Exception:  # a name imported for type checkers only, or no type
        return Any
    return kind if parameter.default is parameter.empty or _fits(parameter.default, kind) else Any  # bias: bool = 'qv'


def mistyped(node: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dict whose values do not have the type in ``types``, and that type in words.

    None passes, since many libraries leave it out of their annotations. So does any value that is not plain.
    """
    for key, value in node.items():
        if key in types and not _fits(value, types[key]):
            yield key, _in_words(types[key])


def _fits(value: Any, kind: Any) -> bool:
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if not isinstance(value, (bool, int, float, str, list, tuple)):
        return True
    if origin is NoneType:
        return False
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Annotated:
        return _fits(value, arguments[0])
    if origin is Literal:
        return value in arguments
    is_dict = inspect.isclass(origin) and issubclass(origin, Mapping)
    if isinstance(value, (list, tuple)):
        if origin is tuple and len(arguments) == len(value) and Ellipsis not in arguments:
            return all(map(_fits, value, arguments))
        # Libraries that annotate one value also take a list of such values.
        inner = kind if origin in WORDS or is_dict else arguments[0] if arguments and _is_list(origin) else Any
        return bool(value or inner is not kind) and all(_fits(part, inner) for part in value)
    if origin in WORDS:
        return isinstance(value, WORDS[origin][1]) and (origin is bool or not isinstance(value, bool))
    if _is_list(origin):  # one number may stand for several, as RoIAlign's output_size
        return not isinstance(value, (bool, str))
    return not is_dict


def _is_list(kind: Any) -> bool:
    return kind is tuple or (inspect.isclass(kind) and kind is not object and issubclass(list, kind))


def _in_words(kind: Any) -> str:
    if get_origin(kind) in (Union, UnionType):
        return ' or '.join(dict.fromkeys(_in_words(one) for one in get_args(kind) if one is not NoneType))
    if get_origin(kind) is Literal:
        return ' or '.join(map(repr, get_args(kind)))
    if kind in WORDS:
        return WORDS[kind][0]
    return 'a list' if _is_list(get_origin(kind) or kind) else getattr(kind, '__name__', str(kind))
