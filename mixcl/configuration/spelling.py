"""Misspelt names: which known name was meant."""

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """Write ``; did you mean 'x'?`` for the most similar of the known names, or nothing."""
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    return f'; did you mean {similar[0]!r}?' if similar else ''


def slip_of(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is most likely a slip of, for example of ``param_schedular``.

    Stricter than similarity alone, for places where any other name is allowed too: names whose words are different
    ones (``bank_dataloader`` and ``val_dataloader``) are not slips of each other. A known name is no slip.
    """
    known = set(known)
    if name in known:
        return None
    similar = difflib.get_close_matches(name, sorted(known), cutoff=0.8)
    return next((candidate for candidate in similar if _same_words(name, candidate)), None)


def _same_words(first: str, second: str) -> bool:
    words, other_words = first.split('_'), second.split('_')
    if len(words) != len(other_words):
        return _similarity(''.join(words), ''.join(other_words)) >= 0.9
    return all(_similarity(*pair) >= 0.6 for pair in zip(words, other_words, strict=True))


def _similarity(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first, second).ratio()
