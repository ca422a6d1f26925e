"""Reading the config that a checkpoint carries, as data."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError


def stored_config(checkpoint: Mapping[str, Any], path: str | Path) -> Config | None:
    """Return the config that a checkpoint carries; None if it carries none.

    mmengine writes assignments of literals and ``dict(...)`` calls into ``meta['cfg']``. Its own ``Config.fromstring``
    runs the text as a program, which would let a downloaded file run code.

    Classes and functions in the config become their dotted names.

    Raises:
        UserError: if the config holds anything but data; the message names the file by its ``path``.
    """
    text, values = meta_of(checkpoint).get('cfg'), {}
    if not isinstance(text, str):
        return None
    try:
        for statement in ast.parse(text).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    values[name] = ast.literal_eval(_AsLiterals().visit(value))
                case _:
                    raise ValueError(f'line {statement.lineno} is no assignment')
        return Config(values)
    except (KeyError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        reason = str(error) or 'nested too deep'
        raise UserError(f'the config stored in {path} is not one that mmengine wrote: {reason}') from error


def meta_of(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what mmengine notes in a checkpoint beside the weights; empty if there is nothing."""
    meta = checkpoint.get('meta') if 'state_dict' in checkpoint else None
    return meta if isinstance(meta, Mapping) else {}


class _AsLiterals(ast.NodeTransformer):
    """Rewriter of ``dict(...)`` calls and names as literals; ``literal_eval`` refuses whatever else is no literal."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id='dict'), args=[], keywords=keywords) if all(word.arg for word in keywords):
                keys: list[ast.expr | None] = [ast.Constant(word.arg) for word in keywords]
                return ast.Dict(keys, [self.visit(word.value) for word in keywords])
            # Keys that dict() cannot take as keywords are written dict({...}).
            case ast.Call(func=ast.Name(id='dict'), args=[ast.Dict() as mapping], keywords=[]):
                return self.visit(mapping)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id in ('inf', 'nan') else node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Constant(ast.unparse(node))
