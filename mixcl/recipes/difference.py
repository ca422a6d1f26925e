"""Differences between two configs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mixcl.recipes.paths import Path, children, dotted

ABSENT = object()


class Change(NamedTuple):
    """A value that differs from before; ``ABSENT`` where there is none. The path is written with dots."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        texts = ('absent' if value is ABSENT else repr(value) for value in (self.old, self.new))
        old, new = (text if len(text) <= 100 else f'{text[:97]}...' for text in texts)
        return f'{self.path} was {old} and is {new} now'


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[Change]:
    """Yield the values that two configs do not share; None counts as absent."""
    both = (old, new)
    if all(isinstance(value, Mapping) for value in both) or all(isinstance(value, (list, tuple)) for value in both):
        before, after = dict(children(old)), dict(children(new))
        for key in dict.fromkeys((*before, *after)):
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif path[-1:] == ('type',) and {old, new} <= {'SyncBN', 'mixcl.SyncBatchNorm'}:
        return  # the same layer, for GPUs and for CPUs
    elif old != new and repr(old) != repr(new) and not all(value in (None, ABSENT) for value in both):
        yield Change(dotted(path), old, new)
