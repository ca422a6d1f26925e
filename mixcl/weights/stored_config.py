"""Reading the config that a checkpoint carries, as data."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError


def stored_config(checkpoint: Mapping[str, Any], path: str | Path) -> Config | None:
    """The config that a checkpoint carries; None where it carries none.

    mmengine writes assignments of literals and ``dict(...)`` calls into ``meta['cfg']``. Its own ``Config.fromstring``
    runs the text as a program, which a downloaded file must not be.

    Classes and functions in it become their dotted names.

    Raises:
        UserError: if it holds anything but data; it names the file by its ``path``.
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
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        reason = str(error) or 'nested too deep'
        raise UserError(f'the config stored in {path} is not one that mmengine wrote: {reason}') from error


def meta_of(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    """What mmengine notes in a checkpoint beside the weights; empty where there is nothing of the kind."""
    meta = checkpoint.get('meta') if 'state_dict' in checkpoint else None
    return meta if isinstance(meta, Mapping) else {}


class _AsLiterals(ast.NodeTransformer):
    """Rewrites ``dict(...)`` calls and names as literals; whatever else is no literal, ``literal_eval`` refuses."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id='dict'), args=[], keywords=keywords) if all(word.arg for word in keywords):
                keys: list[ast.expr | None] = [ast.Constant(word.arg) for word in keywords]
                return ast.Dict(keys, [self.visit(word.value) for word in keywords])
            # What dict() cannot name as keywords is written dict({...}).
            case ast.Call(func=ast.Name(id='dict'), args=[ast.Dict() as mapping], keywords=[]):
                return self.visit(mapping)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id in ('inf', 'nan') else node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Constant(ast.unparse(node))
