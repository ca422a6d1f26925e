"""Check of argument names, for functions that pass options on."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from mixcl.errors import UserError
from mixcl.recipes.typed import slip_of

F = TypeVar('F', bound=Callable)


def named(options: Callable | None = None, without: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Make a function refuse a misspelt argument and suggest the name that was meant.

    The function also takes the arguments of ``options``, a class or function, except those in ``without``.
    """

    def decorated(function: F) -> F:
        others = inspect.signature(options).parameters if options else {}
        known = {*inspect.signature(function).parameters, *others} - {'options', *without}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() - known:
                meant = slip_of(name, known)
                hint = f'did you mean {meant!r}?' if meant else f'it has {", ".join(sorted(known))}'
                raise UserError(f'mixcl.{function.__name__} has no argument {name!r}; {hint}')
            return function(*args, **kwargs)

        return cast(F, call)

    return decorated
