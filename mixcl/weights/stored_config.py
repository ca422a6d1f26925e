"""Reading the config that a checkpoint carries, as data."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError


def stored_config(checkpoint: Mapping[str, Any], path: str | Path) -> Config | None:
    """The config that a checkpoint carries; None where it carries none.

    Args:
        checkpoint: as read.
        path: of the file, for messages.

    Raises:
        UserError: if it is not one that mmengine wrote.
    """
    text = meta_of(checkpoint).get('cfg')
    return parse_config(text, str(path)) if isinstance(text, str) else None


def meta_of(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    """What mmengine notes in a checkpoint beside the weights; empty where there is nothing of the kind."""
    meta = checkpoint.get('meta') if 'state_dict' in checkpoint else None
    return meta if isinstance(meta, Mapping) else {}


def parse_config(text: str, source: str) -> Config:
    """Read a config as mmengine writes it into ``meta['cfg']``: assignments of literals and ``dict(...)`` calls.

    mmengine's own ``Config.fromstring`` runs the text as a program, which a downloaded file must not be.

    Args:
        text: of the config, without ``_base_``.
        source: where it comes from, for messages.

    Returns:
        The config. Classes and functions in it become their dotted names.

    Raises:
        UserError: if it holds anything but data.
    """
    try:
        return Config({name: _value(value) for name, value in map(_assignment, ast.parse(text).body)})
    except (SyntaxError, TypeError, ValueError) as error:
        raise UserError(f'the config stored in {source} is not one that mmengine wrote: {error}') from error


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
    raise ValueError(f'line {statement.lineno} is no assignment')


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Call(func=ast.Name(id='dict'), args=[], keywords=keywords) if all(word.arg for word in keywords):
            return {word.arg: _value(word.value) for word in keywords}
        # What dict() cannot name as keywords is written dict({...}).
        case ast.Call(func=ast.Name(id='dict'), args=[ast.Dict() as mapping], keywords=[]):
            return _value(mapping)
        case ast.Dict(keys=keys, values=values):  # without a key where there is {**another}
            return {ast.literal_eval(key): _value(value) for key, value in zip(filter(None, keys), values, strict=True)}
        case ast.List(elts=elements):
            return [_value(element) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_value(element) for element in elements)
        case ast.Name(id='inf' | 'nan' as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id='inf')):
            return -float('inf')
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
    return ast.literal_eval(node)
