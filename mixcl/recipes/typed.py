"""Reading of dicts as facts, and words for what is wrong with them."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from mixcl.errors import UserError
from mixcl.ranges import COUNT, NOT_NEGATIVE, SHARE_ABOVE_ZERO, Range

Kind = TypeVar('Kind')

WORDS = {
    bool: 'True or False',
    int: 'a whole number',
    float: 'a number',
    str: 'a text',
    dict: 'a dict',
    list: 'a list',
}

COUNTS = Range('whole numbers of at least 1', lambda numbers: bool(numbers) and min(numbers) >= 1)
NUMBER_OR_TWO = Range(
    'a number, or two above 0', lambda it: isinstance(it, float | int) or (len(it) == 2 and min(it) > 0)
)
RANGES: dict[str, Range] = {
    **dict.fromkeys(('batch', 'at_once', 'classes', 'crops', 'epochs', 'every', 'processes', 'repeats'), COUNT),
    **dict.fromkeys(('batch_size', 'image_size', 'seeds'), COUNT),
    **dict.fromkeys(('size', 'resize'), COUNT),
    **dict.fromkeys(('warmup', 'workers', 'lr'), NOT_NEGATIVE),
    **dict.fromkeys(('neighbours', 'tested'), COUNTS),
    'crop': Range('two shares, the smaller first', lambda pair: len(pair) == 2 and 0 < pair[0] <= pair[1] <= 1),
    'share': SHARE_ABOVE_ZERO,
    'weight_decay': NUMBER_OR_TWO,
}
"""Ranges of facts, by their names."""


def typed(kind: type[Kind], given: Any, place: str = '', whole: str = 'the recipe') -> Kind:
    """Read a dict as facts of a kind, and the dicts in it as those of the kinds that its fields name.

    ``whole`` is what messages call the dict without a place.

    Raises:
        UserError: for an unknown or missing key, and a value of another type or out of range, with its place.
    """
    if not isinstance(given, Mapping):
        raise UserError(f'{place}={given!r} must be a dict')
    kinds, known = get_type_hints(kind), {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    others = {key: value for key, value in given.items() if key not in known or key == 'settings'}
    for key in others:
        if 'settings' not in known or difflib.get_close_matches(key, known, 1, cutoff=0.85):
            raise UserError(f'{place or whole} has no {key!r}{suggested(key, known.keys() - {"settings"})}')
    values = {key: value for key, value in given.items() if key not in others}
    for key, value in values.items():
        name = f'{place}.{key}'.lstrip('.')
        facts = next((each for each in (kinds[key], *get_args(kinds[key])) if is_dataclass(each)), None)
        if isinstance(facts, type) and get_origin(kinds[key]) is dict and isinstance(value, Mapping):
            values[key] = {each: typed(facts, part, f'{name}.{each}') for each, part in value.items()}
        elif isinstance(facts, type) and value is not None:
            values[key] = typed(facts, value, name)
        elif not fits(value, kinds[key]):
            raise UserError(f'{name}={value!r} must be {in_words(kinds[key])}')
        elif value is not None and key in RANGES and not RANGES[key].test(value):
            raise UserError(f'{name}={value!r} must be {RANGES[key].words}')
    for each in known.values():
        if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise UserError(f'{place or whole} says no {each.name}: it must be {in_words(kinds[each.name])}')
    return kind(**values, **({'settings': others} if 'settings' in known else {}))


def with_defaults(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict of facts with the default of each that it leaves out."""
    found = {each.name: each.default for each in fields(kind) if each.default is not MISSING}
    made = {each.name: each.default_factory for each in fields(kind) if each.default_factory is not MISSING}
    return {**found, **{name: make() for name, make in made.items() if name != 'settings'}, **given}


def check_keys(given: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    """Raise UserError for the first key of a dict that is none of those known."""
    for key in given:
        if key not in known:
            raise UserError(f'{place} has no {key!r}{suggested(key, known)}')


def with_type(part: Any, place: str) -> Mapping[str, Any]:
    """Return a part of a config that names what it builds; raises UserError for any other."""
    if not isinstance(part, Mapping) or 'type' not in part:
        raise UserError(f'{place}={part!r} must be a dict with a type')
    return part


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
