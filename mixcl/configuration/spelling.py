"""Misspelt names: which known name was meant."""

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """Write ``; did you mean 'x'?`` for the most similar of the known names, or nothing."""
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    return f'; did you mean {similar[0]!r}?' if similar else ''


def slip_of(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is most likely a slip of, for example of ``param_schedular``.

    Stricter than :func:`suggest`, for places where any other name is allowed too: ``bank_dataloader`` is no slip of
    ``val_dataloader``. A known name is no slip.
    """
    known = set(known)
    similar = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8 if len(name) < 8 else 0.85)
    return similar[0] if similar and name not in known else None
