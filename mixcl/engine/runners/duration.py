"""Durations as people write them."""

import re

from mixcl.errors import UserError

SECONDS = dict(d=86400, h=3600, m=60, s=1)


def seconds_of(duration: str, option: str) -> int:
    """``'23h30m'`` as a number of seconds; days, hours, minutes and seconds in this order, each as a whole number.

    Args:
        duration: what the user wrote.
        option: where, for the message.

    Raises:
        UserError: if it is no duration, or no time at all.
    """
    parts = re.fullmatch(''.join(rf'(?:(\d+){unit})?' for unit in SECONDS), duration.strip())
    numbers = [int(number or 0) for number in parts.groups()] if parts else [0]
    seconds = sum(number * length for number, length in zip(numbers, SECONDS.values(), strict=False))
    if seconds == 0:
        raise UserError(f'{option} takes a duration such as 23h30m, 90m or 45s, not {duration!r}')
    return seconds
