"""configs/README.md: every config is listed, and every command works as printed."""

import re

import pytest
from configuration.all_configs import build
from configuration.readme import COMMANDS, EVALUATIONS, PAGE, ROOT, parse, rows, sections
from evaluation.composed import recipe_of

from mixcl.engine.runners.dry_run import try_views
from mixcl.recipes.prepared import prepared
from mixcl.recipes.recipe_table import data_of

OVERRIDING = [command for command in COMMANDS if '--cfg-options' in command]
TOGETHER = ('_base_/data', 'evaluation/backbones', 'evaluation/recipes/*')
LENGTH_AND_BATCH = {'schedule.epochs', 'batch', 'at_once', 'optimizer.lr'}


def is_ablation(command: str) -> bool:
    return not set(parse(command).cfg_options) <= LENGTH_AND_BATCH


# What holds for CIFAR-10 holds for CIFAR-100.
ABLATIONS = [command for command in OVERRIDING if is_ablation(command) and 'cifar100' not in command]


def test_every_path_exists_and_every_config_is_listed() -> None:
    listed = set(re.findall(r'configs/[\w./-]+\.py', PAGE))
    assert not [path for path in listed if not (ROOT / path).is_file()]
    folders = {path.replace('<protocol>', '*') for path in re.findall(r'`(configs/[\w/<>]+)/\*\.py`', PAGE)}
    together = {path.relative_to(ROOT) for folder in folders for path in ROOT.glob(f'{folder}/*.py')}
    configs = {path.relative_to(ROOT) for path in (ROOT / 'configs').rglob('*.py') if '_base_' not in path.parts}
    assert folders == {f'configs/{name}' for name in TOGETHER}
    missing = {str(path) for path in configs - together} - listed
    assert not missing


@pytest.mark.parametrize('name', sorted({parse(command).first for command in ABLATIONS}))
def test_an_ablation_fits_with_its_overrides(name: str) -> None:
    for command in (command for command in ABLATIONS if parse(command).first == name):
        cfg = prepared(ROOT / name, cfg_options=parse(command).cfg_options)
        try_views(cfg, build(cfg))


def test_the_gpus_take_the_batch_of_the_recipe() -> None:
    for row in rows():
        assert row.batch() == row.composed().recipe.batch, row.command


def pretrained_in(section: str) -> set[str]:
    """Return the names of the configs that a table pretrains with."""
    paths = re.findall(r'(?:train\.py|dist_train\.sh) configs/([\w./-]+)\.py', section)
    return {path for path in paths if not path.startswith('evaluation/')}


def test_an_evaluation_finds_a_recipe_for_every_checkpoint_of_its_tables() -> None:
    for command in EVALUATIONS:
        arguments = parse(command)
        assert (arguments.first == 'random') == (arguments.protocols == ['supervised'])
        if arguments.config:
            names = {arguments.config.removeprefix('configs/').removesuffix('.py')}
        else:
            tables = [section for section in sections() if f'`{command}`' in section]
            names = {name for section in tables for name in pretrained_in(section)}
        pairs = [(name, data) for name in arguments.protocols for data in data_of(name, arguments.data)]
        for name in names or {'mocov3/vit-s16_in1k'}:  # the table evaluates models of SDMP's Table 1
            assert all(recipe_of(*pair, name) for pair in pairs)
            assert not arguments.recipe or any(recipe_of(*pair, name, recipe=arguments.recipe) for pair in pairs)
