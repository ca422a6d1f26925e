"""Pages of the documentation: their links, headings and blocks, and checks of the commands in them."""

import argparse
import ast
import functools
import importlib
import importlib.util
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import NamedTuple
from unittest.mock import patch

from evaluation.composed import composed, recipe_of
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin

from mixcl import console
from mixcl.recipes.checking import check_config
from mixcl.recipes.prepared import prepared
from mixcl.recipes.recipe_table import data_of
from mixcl.shipped import find_config, known_configs

WITH_DETECTION = importlib.util.find_spec('mmdet') is not None

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'configs/README.md')]
PAGES += [page for folder in ('docs', 'examples') for page in sorted((ROOT / folder).rglob('*.md'))]

SYSTEM = {'.', 'cd', 'cp', 'git', 'jupyter', 'ls', 'mkdir', 'mlflow', 'pip', 'pytest', 'tensorboard', 'wandb'}
"""Third-party programs, whose arguments are not checked."""

SCRIPTS = {'dist_train.sh': ('train', [1]), 'slurm_train.sh': ('train', [0, 1]), 'dist_test.sh': ('test', [2])}
"""Tool that each script calls, and positions of the script's own arguments among the words."""


class Block(NamedTuple):
    """A fenced block, and what it needs according to a comment `<!-- needs: ... -->` before it."""

    language: str
    text: str
    needs: str

    @property
    def file(self) -> str:
        """Name of the file that the block shows, if its first line gives one."""
        return (re.findall(r'\A# ([\w-]+\.py)\n', self.text) or [''])[0]


@functools.cache
def tokens(page: Path) -> list:
    return MarkdownIt().enable('table').use(anchors_plugin, max_level=4).parse(page.read_text())


def anchors(page: Path) -> set[str]:
    return {str(token.attrs['id']) for token in tokens(page) if 'id' in token.attrs}


def links(page: Path) -> list[str]:
    attributes = [child.attrs for token in tokens(page) for child in token.children or []]
    return [str(one[name]) for one in attributes for name in ('href', 'src') if name in one]


def blocks(page: Path, *languages: str) -> list[Block]:
    found, needs = [], ''
    for token in tokens(page):
        if token.type == 'fence':
            found.append(Block(token.info.strip(), token.content, needs))
        needs = ''.join(re.findall(r'<!-- needs: (.+?) -->', token.content)) if token.type == 'html_block' else ''
    return [block for block in found if block.language in languages]


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, with the block's variables substituted."""
    variables: dict[str, str] = {}
    for line in re.split(r'\n| && | \| ', text.replace('\\\n', ' ')):
        words = shlex.split(line.partition(' > ')[0], comments=True)
        while words and re.fullmatch(r'[A-Z]\w*=.*', words[0]):
            name, _, variables[name] = words.pop(0).partition('=')
        if '--wrap' in words:  # an option of sbatch
            yield from commands(words[words.index('--wrap') + 1])
        elif words:
            yield [Template(word).safe_substitute(variables) for word in words]


def check_command(words: list[str], files: set[str]) -> None:
    """Check that a command exists and accepts its words; ``files`` are those that the page itself shows."""
    first, *rest = words
    tools = [place for place, word in enumerate(words) if re.fullmatch(r'(tools|docs)/.+\.(py|sh)', word)]
    if tools and Path(words[tools[0]]).name in SCRIPTS:
        assert (ROOT / first).is_file(), first
        name, own = SCRIPTS[Path(first).name]
        check_tool(ROOT / f'tools/{name}.py', [word for place, word in enumerate(rest) if place not in own], files)
    elif tools:
        check_tool(ROOT / words[tools[0]], words[tools[0] + 1 :], files)
    elif first == 'mixcl' or ('-m', 'mixcl') in zip(words, rest, strict=False):
        name, *arguments = words[words.index('mixcl') + 1 :]
        assert name.startswith('--') or check_options(name, console.parsed(name, arguments), files)
    elif first == 'make':
        goals = {word for word in rest if '=' not in word}
        assert goals <= set(re.findall(r'^([\w-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE)), goals
    elif words[:2] == ['python', '-c']:
        check_python(words[2], files)
    elif words[:2] == ['python', '-m']:
        assert importlib.util.find_spec(words[2]), words[2]
    else:
        assert first in SYSTEM or (first == 'python' and rest[0] in files), f'{first} is not known'


@functools.cache
def loaded(path: Path) -> dict:
    with patch.object(sys, 'path', [str(path.parent), *sys.path]):
        return runpy.run_path(str(path), run_name='documented')


def check_tool(path: Path, words: list[str], files: set[str]) -> None:
    """Let the tool's own parser read the words."""
    if command := re.search(r"    run\('([\w-]+)'\)\n$", path.read_text()):
        check_options(command[1], console.parsed(command[1], words), files)
    elif 'parse_arguments' in path.read_text():
        with patch.object(sys, 'argv', [str(path), *words]):
            check_options(path.stem, loaded(path)['parse_arguments'](), files)


def check_options(name: str, args: argparse.Namespace, files: set[str]) -> bool:
    """Check that configs named by a command's options exist, and the keys of overrides."""
    options = getattr(args, 'cfg_options', None) or {}
    if name == 'evaluate':
        if not args.recipe_config and ':' not in args.data:
            check_evaluation(args.checkpoint, args.data, args.protocols, args.recipe, options)
        options = {}
    given = [getattr(args, name, None) or [] for name in ('config', 'configs', 'data_config', 'recipe_config', 'model')]
    for config in [name for some in given for name in ([some] if isinstance(some, str) else some)]:
        named = config.endswith('.py') or config in known_configs()  # others are placeholders, or of a run
        named &= WITH_DETECTION or 'transfer/' not in config
        if named and config not in files and not config.startswith('DIR/'):
            check_config(prepared(find_config(config), cfg_options=options))
    return True


def check_evaluation(checkpoint: str, data: str, protocols: list[str], recipe: str | None, options: dict) -> None:
    named = re.findall(r'(\w+/[\w-]+)/epoch_\d+\.pth$', checkpoint)
    name = named[0] if set(named) & {*known_configs()} else None
    for place, protocol in enumerate(protocols):
        others = {*protocols[:place], *protocols[place + 1 :]}
        mine = {key: value for key, value in options.items() if key.partition('.')[0] not in others}
        own = {key.removeprefix(f'{protocol}.'): value for key, value in mine.items()}
        for images in data_of(protocol, data):
            asked = recipe if recipe_of(protocol, images, name, recipe=recipe) else None
            composed(protocol, images, name, recipe=asked, overrides=own)


def check_python(text: str, files: set[str]) -> None:
    """Check that the text is Python, and that whatever it imports exists."""
    for node in ast.walk(ast.parse(text)):
        for name in [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []:
            module = getattr(node, 'module', name)
            assert f'{module}.py' in files or importlib.util.find_spec(module), module
            if module != name and f'{module}.py' not in files:
                found = hasattr(importlib.import_module(module), name)
                assert found or importlib.util.find_spec(f'{module}.{name}'), f'{module} has no {name}'
