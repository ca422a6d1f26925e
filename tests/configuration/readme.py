"""Commands of configs/README.md, each with its table."""

import argparse
import functools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from mmengine.config import Config, DictAction

from mixcl.recipes.making import made
from mixcl.recipes.overrides import override_facts
from mixcl.recipes.reading import read_config
from mixcl.recipes.recipe_table import PROTOCOLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'configs/README.md').read_text()
TRAINING = r'`((?:python tools/train\.py|tools/dist_train\.sh) configs/[^`]+)`'
COMMANDS = sorted(set(re.findall(TRAINING, PAGE)))
EVALUATIONS = sorted(set(re.findall(r'`(python tools/evaluate\.py (?:CHECKPOINT|random) [^`]+)`', PAGE)))


def parse(command: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ('tool', 'first'):  # a config, or a checkpoint
        parser.add_argument(name)
    parser.add_argument('gpus', type=int, nargs='?', default=1)
    parser.add_argument('--amp', action='store_true')
    parser.add_argument('--cfg-options', nargs='+', action=DictAction, default={})
    parser.add_argument('--data')
    parser.add_argument('--protocols', nargs='+', choices=PROTOCOLS)
    parser.add_argument('--config')
    parser.add_argument('--recipe')
    return parser.parse_args(shlex.split(command.removeprefix('python ')))


def sections(text: str = PAGE, level: str = '###') -> list[str]:
    """Return the sections under the headings of tables, or of another level, headings included."""
    return re.split(rf'^{level} ', text, flags=re.MULTILINE)[1:]


class Row(NamedTuple):
    """A training command, its line, and the paper's name of the table: 'PatchMix, Table 2'."""

    sources: tuple[str, ...]
    line: str
    command: str

    @property
    def config(self) -> str:
        return parse(self.command).first.removeprefix('configs/').removesuffix('.py')

    @property
    def overrides(self) -> dict:
        return parse(self.command).cfg_options

    def composed(self) -> Config:
        """Return the config that the command trains with."""
        return composed(self.command)

    def batch(self) -> int:
        """Return the number of images of an optimiser step on all GPUs."""
        return images_per_step(self.composed(), parse(self.command).gpus)


@functools.cache
def composed(command: str) -> Config:
    """Return the config that a training command trains with, on its number of GPUs."""
    arguments = parse(command)
    cfg = read_config(ROOT / arguments.first)
    override_facts(cfg, arguments.cfg_options)
    return made(cfg, arguments.gpus)


def images_per_step(cfg: Config, processes: int) -> int:
    """Return the number of images of an optimiser step on all processes."""
    return processes * cfg.train_dataloader.batch_size * cfg.optim_wrapper.get('accumulative_counts', 1)


def rows() -> list[Row]:
    """Return every training command in a table of a paper."""
    found = []
    for chapter in sections(level='##'):
        paper = chapter.split()[0]
        for section in sections(chapter):
            kind, numbers = re.match(r'(Table|Figure)s? ([\d, and]+)', section).groups()
            sources = tuple(f'{paper}, {kind} {number}' for number in re.findall(r'\d+', numbers))
            lines = [line for line in section.split('\n') if line.startswith('|')]
            found += [Row(sources, line, command) for line in lines for command in re.findall(TRAINING, line)]
    return found
