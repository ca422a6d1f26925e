"""Names of arguments, of calls whose options another class or function has."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from mixcl.errors import UserError
from mixcl.experiments.checks.keys import suggest

F = TypeVar('F', bound=Callable)


def named(options: Callable | None = None, without: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Let a function refuse a misspelt argument by the name that was meant.

    ``options`` is what has the arguments that the function takes besides its own, but those ``without``.
    """

    def decorated(function: F) -> F:
        others = inspect.signature(options).parameters if options else {}
        known = {*inspect.signature(function).parameters, *others} - {'options', *without}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() - known:
                hint = suggest(name, known) or f'; it has {", ".join(sorted(known))}'
                raise UserError(f'mixcl.{function.__name__} has no argument {name!r}{hint}')
            return function(*args, **kwargs)

        return cast(F, call)

    return decorated
