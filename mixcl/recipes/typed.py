"""Reading of a dict as facts of a type, and words for what is wrong with it."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from mixcl.errors import UserError

Kind = TypeVar('Kind')

WORDS = {
    bool: 'True or False',
    int: 'a whole number',
    float: 'a number',
    str: 'a text',
    dict: 'a dict',
    list: 'a list',
}

LEAST = dict.fromkeys(('batch', 'at_once', 'classes', 'crops', 'epochs', 'every', 'processes', 'repeats'), 1)
LEAST |= dict(size=1, resize=1, warmup=0, workers=0, lr=0)
"""Smallest values of facts that are numbers."""


SHAPES: tuple[tuple[str, str, Callable[[Sequence], bool]], ...] = (
    ('crop', 'two shares, the smaller one first', lambda pair: len(pair) == 2 and 0 < pair[0] <= pair[1] <= 1),
    ('weight_decay', 'a number, or two above 0', lambda pair: len(pair) == 2 and min(pair) > 0),
    ('neighbours', 'whole numbers of at least 1', lambda numbers: bool(numbers) and min(numbers) >= 1),
    ('tested', 'whole numbers of at least 1', lambda numbers: bool(numbers) and min(numbers) >= 1),
)
"""What facts that are lists must be, in words and as a test."""


def typed(kind: type[Kind], given: Any, place: str) -> Kind:
    """Read facts of a kind; raises UserError for an unknown or missing key, and a value of another type or too small.

    ``place`` is where they stand in the config.
    """
    if not isinstance(given, Mapping):
        raise UserError(f'{place}={given!r} must be a dict')
    kinds, known = get_type_hints(kind), {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    others = {key: value for key, value in given.items() if key not in known or key == 'settings'}
    for key in others:
        if 'settings' not in known or difflib.get_close_matches(key, known, 1, cutoff=0.85):
            raise UserError(f'{place} has no {key!r}{suggested(key, known.keys() - {"settings"})}')
    values = {key: value for key, value in given.items() if key not in others}
    for key, value in values.items():
        name = f'{place}.{key}'.removeprefix('the recipe.')
        if not fits(value, kinds[key]):
            raise UserError(f'{name}={value!r} must be {in_words(kinds[key])}')
        if value is not None and key in LEAST and not LEAST[key] <= value < math.inf:
            raise UserError(f'{name}={value!r} must be at least {LEAST[key]}, and finite')
    for key, words, holds in SHAPES:
        if isinstance(values.get(key), Sequence) and not holds(values[key]):
            raise UserError(f'{place}.{key}={values[key]!r} must be {words}')
    if values.get('share') is not None and not 0 < values['share'] <= 1:
        raise UserError(f'{place}.share={values["share"]!r} must be above 0 and at most 1')
    for each in known.values():
        if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise UserError(f'{place} says no {each.name}: it must be {in_words(kinds[each.name])}')
    return kind(**values, **({'settings': others} if 'settings' in known else {}))


def check_keys(given: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    """Raise UserError for the first key of a dict that is none of those known."""
    for key in given:
        if key not in known:
            raise UserError(f'{place} has no {key!r}{suggested(key, known)}')


def with_defaults(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict of facts with the default of each that it leaves out."""
    defaults = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory()
        for each in fields(kind)
        if each.default is not MISSING or each.default_factory is not MISSING
    }
    return {**defaults, **given}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value has a type. A whole number counts as a number, but neither True nor False do."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if origin in (int, float):
        return isinstance(value, (int, float) if origin is float else int) and not isinstance(value, bool)
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(fits(each, inner[0] if inner else object) for each in value)
    return isinstance(value, Mapping if origin is dict else origin)


def in_words(kind: Any) -> str:
    """Return the words for a type in a message."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        return ' or '.join(in_words(each) for each in inner if each is not NoneType)
    if origin is Literal:
        return ' or '.join(map(repr, inner))
    if origin in (list, Sequence):
        return f'a list, each {in_words(inner[0])}' if inner else 'a list'
    return 'a dict' if is_dataclass(origin) else WORDS.get(origin, origin.__name__)


def suggested(word: str, known: Any) -> str:
    """Return the end of a message about a word that is not known: the nearest that is."""
    near = difflib.get_close_matches(str(word), [*map(str, known)], 1)
    if not near and not known:
        return ', and there are none'
    return f'; did you mean {near[0]!r}?' if near else f'; there are {", ".join(sorted(map(str, known)))}'


def slip_of(word: str, known: Any) -> str | None:
    """Return the known name that a word is most likely a slip of, where any other word is allowed, too; or None."""
    near = difflib.get_close_matches(word, sorted(map(str, known)), 1, cutoff=0.8 if len(word) < 8 else 0.85)
    return near[0] if near and word not in known else None
