"""Settings of measures that mean nothing, refused before anything is encoded."""

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from mixcl.errors import UserError

Bound = tuple[str, Callable[[Any], bool]]
"""Which finite numbers are allowed, in words and as a test."""

ABOVE_ZERO: Bound = 'a finite number above 0', lambda value: value > 0
COUNT: Bound = 'a whole number of at least 1', lambda value: isinstance(value, Integral) and value >= 1
SEVERAL: Bound = 'a whole number of at least 2', lambda value: isinstance(value, Integral) and value >= 2

BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(('temperature', 'rates', 'costs'), ABOVE_ZERO),
    **dict.fromkeys(('neighbours', 'shots', 'draws', 'samples', 'topk', 'epochs', 'batch_size'), COUNT),
    **dict.fromkeys(('classes', 'images'), SEVERAL),
    'weight_decays': ('a finite number of at least 0', lambda value: value >= 0),
    'momentum': ('a number of at least 0 and below 1', lambda value: 0 <= value < 1),
    'held_out': ('a number above 0 and below 1', lambda value: 0 < value < 1),
    'jobs': ('a whole number of at least 1, or -1 for all cores', lambda value: value == -1 or COUNT[1](value)),
    'seed': ('a whole number from 0 to 2**32 - 1', lambda value: isinstance(value, Integral) and 0 <= value < 2**32),
}
"""By the name of a setting."""

LISTS = ('neighbours', 'shots', 'topk', 'rates', 'costs', 'weight_decays')
"""Settings that are lists of such numbers, one at least."""


def check_settings(owner: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings of :data:`BOUNDS` that are out of range; bools and texts are no numbers.

    Raises:
        UserError: with the ``owner``, the setting and its value.
    """
    for name, value in settings.items():
        words, holds = BOUNDS[name]
        values = value if name in LISTS else [value]
        if (
            not isinstance(values, (list, tuple))
            or not values
            or not all(_is_number(one) and holds(one) for one in values)
        ):
            what = f'a list of one or more, each {words}' if name in LISTS else words
            raise UserError(f'{owner}: {name} must be {what}, not {value!r}')


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
