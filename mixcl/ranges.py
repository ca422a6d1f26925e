"""Ranges of numbers, and the check that a setting lies in one."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

from mixcl.errors import UserError


class Range(NamedTuple):
    """Range of a number, in words and as a test. Bools and NaN are in no range."""

    words: str
    test: Callable[[Any], bool]

    def holds(self, value: object) -> bool:
        """Whether a value is a number in this range."""
        return isinstance(value, Real) and not isinstance(value, bool) and bool(self.test(value))


POSITIVE = Range('a finite number above 0', lambda value: 0 < value < math.inf)
NOT_NEGATIVE = Range('a finite number of at least 0', lambda value: 0 <= value < math.inf)
SHARE = Range('a number between 0 and 1', lambda value: 0 <= value <= 1)
BELOW_ONE = Range('a number of at least 0 and below 1', lambda value: 0 <= value < 1)
SHARE_ABOVE_ZERO = Range('a number above 0 and at most 1', lambda value: 0 < value <= 1)
TEMPERATURE = Range('a number from 0.0001 to 1000', lambda value: 1e-4 <= value <= 1000)
COUNT = Range('a whole number of at least 1', lambda value: isinstance(value, int) and value >= 1)

SEVERAL = Range('a whole number of at least 2', lambda value: isinstance(value, int) and value >= 2)


def check_range(kind: str, allowed: Range, /, **settings: object) -> None:
    """Raise :class:`UserError` for the first of the settings of a class, the ``kind``, that is out of range."""
    for name, value in settings.items():
        if not allowed.holds(value):
            raise UserError(f'{kind}: {name} must be {allowed.words}, not {value!r}')


def check_list(kind: str, allowed: Range, /, **settings: object) -> None:
    """Check, like :func:`check_range`, settings that are lists of one or more numbers in the range."""
    for name, values in settings.items():
        if not isinstance(values, (list, tuple)) or not values or not all(map(allowed.holds, values)):
            raise UserError(f'{kind}: {name} must be a list of one or more, each {allowed.words}, not {values!r}')
