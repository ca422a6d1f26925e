"""configs/README.md: every config is listed, and every command works as printed."""

import argparse
import re
import shlex
from pathlib import Path

import mmpretrain
import pytest
from mmengine.config import Config, DictAction

from mixcl.engine.complexity import SyntheticIteration
from mixcl.engine.launch import read_config
from mixcl.engine.smoke import shrink_to_smoke

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'configs/README.md').read_text()
COMMANDS = sorted(set(re.findall(r'`((?:python tools/train\.py|tools/dist_train\.sh) configs/[^`]+)`', PAGE)))
OVERRIDING = [command for command in COMMANDS if '--cfg-options' in command]
LENGTH_AND_BATCH = {'train_cfg.max_epochs', 'train_dataloader.batch_size'}


def parse(command: str) -> argparse.Namespace:
    words = shlex.split(command)
    parser = argparse.ArgumentParser()
    parser.add_argument('config')
    if words[0] == 'tools/dist_train.sh':
        parser.add_argument('gpus', type=int)
    parser.add_argument('--amp', action='store_true')
    parser.add_argument('--cfg-options', nargs='+', action=DictAction)
    return parser.parse_args(words[1:] if words[0] == 'tools/dist_train.sh' else words[2:])


def is_ablation(command: str) -> bool:
    return not set(parse(command).cfg_options) <= LENGTH_AND_BATCH


# What holds for CIFAR-10 holds for CIFAR-100.
ABLATIONS = [command for command in OVERRIDING if is_ablation(command) and 'cifar100' not in command]


def test_every_path_exists_and_every_config_is_listed() -> None:
    listed = set(re.findall(r'configs/[\w./-]+\.py', PAGE))
    assert not [path for path in listed if not (ROOT / path).is_file()]
    folders = re.findall(r'`(configs/[\w/]+)/\*\.py`', PAGE)
    assert folders == ['configs/digits_table'] and (ROOT / folders[0]).is_dir()
    configs = {path.relative_to(ROOT) for path in (ROOT / 'configs').rglob('*.py') if '_base_' not in path.parts}
    missing = {str(path) for path in configs if str(path.parent) not in folders} - listed
    assert not missing


@pytest.mark.parametrize('command', ABLATIONS)
def test_an_ablation_runs_with_its_overrides(command: str) -> None:
    arguments = parse(command)
    cfg = read_config(ROOT / arguments.config, arguments.cfg_options)
    for name, value in arguments.cfg_options.items():
        if '_delete_' not in name:
            assert cfg.get(name.split('.')[0]) is not None
            assert lookup(cfg, name) == value
    shrink_to_smoke(cfg)
    SyntheticIteration(cfg, 4)  # builds the model, and checks it against a batch of the pipeline's views


def lookup(cfg: Config, name: str) -> object:
    node = cfg
    for part in name.split('.'):
        node = node[int(part)] if isinstance(node, list) else node[part]
    return node


def test_commands_for_both_cifars_are_alike() -> None:
    for_both = {command for command in COMMANDS if 'cifar' in command}
    assert len(for_both) > 80
    assert {command.replace('cifar100', 'cifar10') for command in for_both if 'cifar100' in command} == {
        command for command in for_both if 'cifar100' not in command
    }


def test_gpus_times_batch_size_is_the_batch_of_the_recipe() -> None:
    parallel = {parse(command).config: parse(command) for command in COMMANDS if command.startswith('tools/dist')}
    for path, arguments in parallel.items():
        cfg = Config.fromfile(ROOT / path)
        cfg.merge_from_dict(arguments.cfg_options or {})
        assert arguments.gpus * cfg.train_dataloader.batch_size == cfg.auto_scale_lr.base_batch_size, path


def test_names_of_mmpretrain_are_its_own() -> None:
    names = set(re.findall(r'`([\w-]+_in1k[\w-]*)`', PAGE))
    known = {path.stem for path in (Path(mmpretrain.__file__).parent / '.mim/configs').rglob('*.py')}
    assert len(names) > 10 and names <= known


@pytest.mark.parametrize(
    ('paper', 'tables'),
    [('PatchMix', range(2, 8)), ('MixCo', range(1, 5)), ('SDMP', range(1, 12)), ('APS', range(1, 8)),
     ('BSIM and WBSIM', range(1, 3))],
)  # fmt: skip
def test_every_table_of_the_papers_has_its_place(paper: str, tables: range) -> None:
    section = PAGE.partition(f'\n## {paper}\n')[2].partition('\n## ')[0]
    titles = re.findall(r'^### Tables? ([\d, and]+):', section, re.MULTILINE)
    numbers = [int(number) for title in titles for number in re.findall(r'\d+', title)]
    assert numbers == list(tables)
