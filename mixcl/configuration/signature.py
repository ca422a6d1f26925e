"""Which keyword arguments a class or a function takes, through ``**kwargs`` to the bases, and which keys ``arch``."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple


class Keywords(NamedTuple):
    """Keyword arguments that something takes.

    Args:
        names: those that are known.
        open: whether any other may be given too.
    """

    names: frozenset[str]
    open: bool


@functools.cache
def accepted_keywords(factory: Callable[..., Any]) -> Keywords:
    """Collect the keyword arguments that a class or a function takes.

    A constructor that passes its ``**kwargs`` on to ``super().__init__`` takes also what the next class in the
    method resolution order takes; the names that it takes out of ``kwargs`` itself are read from its source. The
    result is open if ``**kwargs`` are stored or handed to something else, and for what has no signature (C code).
    """
    is_class = isinstance(factory, type)
    owners = factory.__mro__[:-1] if isinstance(factory, type) else ()
    calls = [vars(owner)['__init__'] for owner in owners if '__init__' in vars(owner)] if is_class else [factory]
    names: frozenset[str] = frozenset()
    try:
        for call in calls:
            parameters = inspect.signature(call).parameters.values()
            names |= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)} - {'self'}
            variadic = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
            if variadic is None or not is_class:
                return Keywords(names, open=variadic is not None)
            taken_out, passed_on, used = _uses(call, variadic)
            names |= taken_out
            if not passed_on:
                return Keywords(names, open=used)
    except (TypeError, ValueError, OSError, SyntaxError):
        return Keywords(frozenset(), open=True)
    return Keywords(names, open=not calls and factory.__new__ is not object.__new__)


def _uses(constructor: Callable[..., Any], variadic: str) -> tuple[frozenset[str], bool, bool]:
    """Read from the source which names are taken out of kwargs, whether it is passed on, and whether it is used."""

    def is_variadic(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == variadic

    source = textwrap.dedent(inspect.getsource(inspect.unwrap(constructor)))
    nodes = list(ast.walk(ast.parse(source)))
    calls = [(node, node.func) for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    taken_out = frozenset(
        str(call.args[0].value)
        for call, method in calls
        if method.attr in ('pop', 'get', 'setdefault') and is_variadic(method.value)
        if call.args and isinstance(call.args[0], ast.Constant)
    )
    passed_on = any(
        method.attr == '__init__' and any(k.arg is None and is_variadic(k.value) for k in call.keywords)
        for call, method in calls
    )
    return taken_out, passed_on, any(map(is_variadic, nodes))


@functools.cache
def arch_keys_of(factory: Callable[..., Any]) -> frozenset[str] | None:
    """Collect the keys of the dict ``arch`` of one of mmpretrain's transformers.

    These are the keys of its named sizes and, since a class may read more, all words that its source has in quotes.

    Returns:
        The keys, or None for a class without named sizes.
    """
    sizes = getattr(factory, 'arch_zoo', None)
    if not (inspect.isclass(factory) and isinstance(sizes, dict) and all(isinstance(s, dict) for s in sizes.values())):
        return None
    source = ''.join(inspect.getsource(cls) for cls in factory.__mro__ if hasattr(cls, 'arch_zoo'))
    words = source.replace('"', "'").split("'")
    return frozenset({key for size in sizes.values() for key in size} | {word for word in words if word.isidentifier()})
