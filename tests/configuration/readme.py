"""Commands of configs/README.md, each with its table."""

import argparse
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from configuration.all_configs import read
from mmengine.config import Config, DictAction

from mixcl.experiments.evaluations.recipes import PROTOCOLS

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
    for name in ('--amp', '--auto-scale-lr'):
        parser.add_argument(name, action='store_true')
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
        """Return the config with the overrides of the command."""
        cfg = read(self.config).copy()
        cfg.merge_from_dict(self.overrides)
        return cfg

    def batch(self, cfg: Config) -> int:
        """Return the number of images of an optimiser step on all GPUs."""
        accumulated = cfg.optim_wrapper.get('accumulative_counts', 1)
        return parse(self.command).gpus * cfg.train_dataloader.batch_size * accumulated

    def learning_rate(self, cfg: Config) -> float:
        rate, images = cfg.optim_wrapper.optimizer.lr, parse(self.command).gpus * cfg.train_dataloader.batch_size
        return rate * images / cfg.auto_scale_lr.base_batch_size if parse(self.command).auto_scale_lr else rate


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
