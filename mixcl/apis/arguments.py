"""Names of arguments, for calls whose options another class or function has."""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import ParamSpec, TypeVar

from mixcl.configuration.keys import suggest
from mixcl.errors import UserError

P = ParamSpec('P')
R = TypeVar('R')


def named(options: Callable | None = None, without: Collection[str] = ()) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse a misspelt argument by the name that was meant.

    Args:
        options: whose arguments its ``**options`` are, but those ``without``.
        without: of these arguments.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        own, others = (inspect.signature(one).parameters if one else {} for one in (function, options))
        known = {name for name, one in own.items() if one.kind is not one.VAR_KEYWORD} | (set(others) - set(without))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs.keys() - known:
                hint = suggest(name, known) or f'; it has {", ".join(sorted(known))}'
                raise UserError(f'mixcl.{function.__name__} has no argument {name!r}{hint}')
            return function(*args, **kwargs)

        return call

    return decorated
