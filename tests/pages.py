"""The pages of the documentation: their links, headings and blocks, and what the commands in them would do."""

import ast
import functools
import importlib
import importlib.util
import re
import runpy
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import NamedTuple
from unittest.mock import patch

from evaluation.composed import composed
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin

from mixcl import console
from mixcl.configuration import check_config
from mixcl.engine.runners.launch import read_config
from mixcl.evaluation.recipes import data_of
from mixcl.shipped import find_config, known_configs

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'configs/README.md')),
    *sorted((ROOT / 'docs').rglob('*.md')),
    *sorted((ROOT / 'examples').rglob('*.md')),
]
SYSTEM = {'.', 'cd', 'cp', 'git', 'ls', 'mkdir', 'mlflow', 'pip', 'pre-commit', 'pytest', 'tensorboard', 'wandb'}
"""Programs of others, whose arguments are not looked at."""

SCRIPTS = {'dist_train.sh': ('train', (1,)), 'slurm_train.sh': ('train', (0, 1)), 'dist_test.sh': ('test', (2,))}
"""The tool that each calls, and which of its arguments are its own."""


class Block(NamedTuple):
    """A fenced block: its language, its text, and what it needs that is not there, by `<!-- needs: ... -->`."""

    language: str
    text: str
    needs: str = ''

    @property
    def file(self) -> str:
        """The name of the file that the block is to be, if its first line says so."""
        named = re.match(r'# ([\w-]+\.py)\n', self.text)
        return named[1] if named else ''


@functools.cache
def tokens(page: Path) -> list:
    return MarkdownIt().enable('table').use(anchors_plugin, max_level=4).parse(page.read_text())


def anchors(page: Path) -> set[str]:
    return {str(token.attrs['id']) for token in tokens(page) if 'id' in token.attrs}


def links(page: Path) -> list[str]:
    inline = [child for token in tokens(page) for child in token.children or []]
    return [
        str(child.attrs.get('href') or child.attrs.get('src')) for child in inline if {'href', 'src'} & {*child.attrs}
    ]


def blocks(page: Path, *languages: str) -> list[Block]:
    found, needs = [], ''
    for token in tokens(page):
        if token.type == 'fence':
            found.append(Block(token.info.strip(), token.content, needs))
        marker = re.search(r'<!-- needs: (.+?) -->', token.content) if token.type == 'html_block' else None
        needs = marker[1] if marker else ''
    return [block for block in found if block.language in languages]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a block, with the variables that the block sets."""
    variables: dict[str, str] = {}
    for line in text.replace('\\\n', ' ').splitlines():
        for part in re.split(r' && | \| ', line):
            words = shlex.split(part.partition(' > ')[0], comments=True)
            while words and re.fullmatch(r'[A-Z]\w*=.*', words[0]):
                name, _, value = words.pop(0).partition('=')
                variables[name] = value
            if words:
                yield [Template(word).safe_substitute(variables) for word in words]


def check_command(words: list[str], files: set[str]) -> None:
    """Fail if a command could not be meant so; ``files`` are those that the page itself has."""
    first, *rest = words
    if Path(first).name in SCRIPTS:
        assert (ROOT / first).is_file(), first
        name, own = SCRIPTS[Path(first).name]
        check_tool(ROOT / f'tools/{name}.py', [word for place, word in enumerate(rest) if place not in own], files)
    elif 'mixcl' in words and (first == 'mixcl' or words[words.index('mixcl') - 1] == '-m'):
        name, *arguments = words[words.index('mixcl') + 1 :]
        if not name.startswith('-'):
            check_tool(console.commands()[name], arguments, files)
    elif scripts := [word for word in words if re.fullmatch(r'(tools|docs)/.+\.py', word)]:
        check_tool(ROOT / scripts[0], words[words.index(scripts[0]) + 1 :], files)
    elif first == 'make':
        goals = [word for word in rest if '=' not in word]
        assert set(goals) <= set(re.findall(r'^([\w-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE)), goals
    elif words[:2] == ['python', '-c']:
        check_python(words[2], files)
    elif words[:2] == ['python', '-m']:
        assert importlib.util.find_spec(words[2]), words[2]
    elif first == 'python':
        assert rest[0] in files, rest[0]
    else:
        assert first in SYSTEM, f'{first} is not known'


@functools.cache
def tool(path: Path) -> dict:
    with patch.object(sys, 'path', [str(path.parent), *sys.path]):
        return runpy.run_path(str(path), run_name='documented')


def check_tool(path: Path, words: list[str], files: set[str]) -> None:
    """Let the tool's own parser read the words; the configs that they name must exist, and the keys of overrides."""
    if path.name == 'doctor.py' or 'parse_arguments' not in path.read_text():
        assert path.is_file(), path
        return
    with patch.object(sys, 'argv', [str(path), *words]):
        args: Namespace = tool(path)['parse_arguments']()
    options = getattr(args, 'cfg_options', None) or {}
    if path.stem == 'evaluate':
        pretrained = re.fullmatch(r'(?:\w+/)*?(\w+/[\w-]+)/epoch_\d+\.pth', args.checkpoint)
        name = pretrained[1] if pretrained and pretrained[1] in known_configs() else None
        pairs = [(protocol, data) for protocol in args.protocols for data in data_of(protocol, args.data)]
        for protocol, data in pairs if not args.config and ':' not in args.data else []:
            own = {key.removeprefix(f'{protocol}.'): value for key, value in options.items()
                   if key.partition('.')[0] == protocol or key.partition('.')[0] not in args.protocols}  # fmt: skip
            composed(protocol, data, name, recipe=args.recipe, overrides=own, builds=False)
    for given in (getattr(args, name, None) for name in ('config', 'configs', 'backbone_config', 'model')):
        for config in [given] if isinstance(given, str) else given or []:
            named = '/' in config or config.endswith('.py')
            if named and Path(config).name not in files and not re.search(r'\bDIR\b|\.pth$|:|^work_dirs|^runs', config):
                check_config(read_config(find_config(config), options if path.stem != 'evaluate' else None))


def check_python(text: str, files: set[str]) -> None:
    """Compile it; whatever it imports must exist."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            wanted = [(str(node.module), alias.name) for alias in node.names]
        else:
            continue
        for module, name in wanted:
            if f'{module}.py' in files:
                continue
            assert importlib.util.find_spec(module), module
            assert not name or hasattr(importlib.import_module(module), name), f'{module} has no {name}'
