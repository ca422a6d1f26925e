"""Beside a result stand only numbers of its recipe, whichever config pretrained and whichever is asked for.

Rates, batches and epochs are those that papers and authors' code give, row by row; no label in a config is believed.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mmengine.config import Config

from mixcl.engine.runners.launch import read_config
from mixcl.evaluation import selection
from mixcl.evaluation.published import Published, all_published, matching, published_of_config
from mixcl.evaluation.selection import families_of, find_config
from mixcl.weights import backbone_config

CONFIGS = Path(__file__).parents[2] / 'configs'
PROTOCOLS = ('linear', 'finetune', 'robustness')

# The first whose expression matches '<protocol> <source> <metric> <config>': learning rate, batch, epochs.
EXPECTED = {
    r'linear PatchMix, Table 2 top1 patchmix/vit-s16': (0.08, 1024, 100),
    r'linear PatchMix, Table 2 top1 patchmix/vit-b16': (0.04, 1024, 100),
    r'linear PatchMix, Table 2 top1 dino/': (0.004, 1024, 100),
    r'linear PatchMix, Table 2 top1 (mocov3|sdmp|simclr|byol)/': (12, 1024, 90),
    r'linear PatchMix, Table [3567] top1 \w+/vit-t2': (0.05, 256, 100),
    r'linear PatchMix, Table [3567] top1 \w+/vit-s2': (0.02, 256, 100),
    r'linear PatchMix, Table [3567] top1 \w+/vit-b2': (0.01, 256, 100),
    r'linear MixCo, Table 3 ': (30, 256, 100),
    r'linear MixCo, Table [124] ': (3, 256, 100),
    r'linear SDMP, .* top1 (dino/vit|sdmp/vit-\w+_dino)': (0.004, 1024, 100),
    r'linear SDMP, .* top1 \w+/vit': (12, 1024, 90),
    r'linear SDMP, .* top1 (mocov1|mocov2|simclr|byol)/r50': (30, 256, 100),
    r'linear SDMP, .* top1 \w+/r50_in1k': (0.4, 1024, 90),
    r'linear SDMP, Table 5 top1 \w+/r': (0.1, 256, 90),
    r'linear BSIM, Table 2 feat\d': (0.01, 256, 90),
    r'linear BSIM, Table 2 top1 .*simsiam': (1.6, 4096, 90),
    r'linear BSIM, Table 2 top1 ': (30, 256, 100),
    r'finetune PatchMix, Table 2 top1 patchmix/': (2e-3, 1024, 100),
    r'finetune PatchMix, Table 2 top1 sdmp/': (1e-3, 1024, 100),
    r'finetune (PatchMix, Table 2|APS, Table 1) top1 mocov3/': (1e-3, 1024, 150),
    r'finetune PatchMix, Table 3 top1 \w+/vit-t2': (1e-3, 256, 100),
    r'finetune PatchMix, Table 3 top1 \w+/vit-[sb]2': (5e-4, 256, 100),
    r'(finetune|robustness) SDMP, ': (1e-3, 1024, 100),
    r'finetune APS, .* top1 \w+/vit-t2': (5e-4, 128, 100),
    r'finetune APS, .* top1 \w+/vit-s2': (2.5e-4, 128, 100),
    r'finetune APS, .* top1 \w+/vit-b2': (1.25e-4, 128, 100),
    r'finetune APS, .* top1 aps/vit-[sb]16': (2e-3, 1024, 100),  # not published: those of PatchMix and MAE
}
BEST_OF_TWO = 'best_of_all_top1'
"""The best of BSIM's five depths and the pooled output: no recipe's own, and no metric of ours."""

read = functools.cache(read_config)


@functools.cache
def chosen(config: str, protocol: str, data: str, recipe: str | None = None) -> Path:
    """What tools/evaluate.py takes for a checkpoint of a config."""
    return find_config(CONFIGS, protocol, data, config, recipe, families(*config.partition('/')[2].split('_')[:2]))


@functools.cache
def families(backbone: str, data: str) -> tuple[str, ...]:
    """Of all configs that pretrain this backbone on this data set."""
    if backbone.startswith('vit'):
        return ()
    return families_of(backbone_config(read(next(CONFIGS.glob(f'*/{backbone}_{data}*.py')))))


def possible(config: str, protocol: str, data: str) -> set[Path]:
    """What is taken by default, and what bears the backbone's name and can be asked for by --recipe or --config."""
    backbone = config.partition('/')[2].partition('_')[0]
    folder = CONFIGS / 'evaluation' / protocol
    named = {*folder.glob(f'{backbone}_{data}.py'), *folder.glob(f'{backbone}_{data}_*.py')}
    return named | {chosen(config, protocol, data)}


def facts(cfg: Config) -> tuple[float, int, int]:
    return cfg.optim_wrapper.optimizer.lr, cfg.auto_scale_lr.base_batch_size, cfg.train_cfg.max_epochs


def expected(row: Published) -> tuple[float, int, int]:
    text = f'{row.protocol} {row.source} {row.metric} {row.config}'
    return next(fact for pattern, fact in EXPECTED.items() if re.match(pattern, text))


def rows_of_configs() -> list[Published]:
    return [row for row in all_published() if row.config and row.protocol in PROTOCOLS and row.metric != BEST_OF_TWO]


def shown() -> Iterator[tuple[Published, Config]]:
    """Every number that can stand beside a result, and what was trained."""
    for config, epochs, protocol, data in {(r.config, r.epochs, r.protocol, r.data) for r in rows_of_configs()}:
        # Robustness is that of the classifier that is fine-tuned in the same call, and takes over its recipe.
        of_training = ('finetune', 'in1k') if protocol == 'robustness' else (protocol, data)
        for path in possible(config, *of_training):
            for row in matching(published_of_config(config, epochs, protocol, data), read(path).protocol):
                if row.metric != BEST_OF_TWO:
                    yield row, read(path)


@pytest.fixture(scope='module')
def everything() -> Iterator[list[tuple[Published, Config]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, 'read_config', read)  # once is enough
        yield list(shown())


def test_no_number_of_another_recipe_stands_beside_a_result(everything: list) -> None:
    wrong = [
        (row.config, row.source, row.value, cfg.config_name)
        for row, cfg in everything
        if facts(cfg) != pytest.approx(expected(row))
    ]
    assert not wrong


def test_every_number_stands_beside_the_result_of_some_recipe(everything: list) -> None:
    seen = {id(row) for row, _ in everything}  # all come from one list that is read once
    assert not [row for row in rows_of_configs() if id(row) not in seen]


def test_moco_v3_has_the_number_of_its_own_fine_tuning_and_that_of_sdmps() -> None:
    rows = published_of_config('mocov3/vit-s16_in1k', 300, 'finetune', 'in1k')
    found = {}
    for recipe in (None, 'sdmp', 'patchmix'):
        path = chosen('mocov3/vit-s16_in1k', 'finetune', 'in1k', recipe)
        found[recipe] = {row.value for row in matching(rows, read(path).protocol)}
    assert found == {None: {81.4}, 'sdmp': {78.7}, 'patchmix': set()}


@pytest.mark.parametrize(('method', 'value'), [('bsim', 70.4), ('wbsim', 70.8)])
def test_bsim_on_simsiam_has_its_number_by_default(method: str, value: float) -> None:
    config = f'{method}/r50_in1k_simsiam'
    rows = published_of_config(config, 200, 'linear', 'in1k')
    assert [row.value for row in matching(rows, read(chosen(config, 'linear', 'in1k')).protocol)] == [value]


ON_CIFAR = sorted(
    f'{path.parent.name}/{path.stem}'
    for path in CONFIGS.glob('*/vit-*2_cifar*.py')
    if path.parent.name not in ('evaluation', '_base_')
)


@pytest.mark.parametrize('config', ON_CIFAR)
def test_every_host_on_cifar_gets_the_rates_of_its_size(config: str) -> None:
    backbone, data = config.partition('/')[2].split('_')[:2]
    size = backbone[4]
    linear = read(chosen(config, 'linear', data))
    assert facts(linear)[0] == dict(t=0.05, s=0.02, b=0.01)[size]
    finetune = read(chosen(config, 'finetune', data))
    if config.startswith('aps/'):
        assert facts(finetune)[0] == dict(t=5e-4, s=2.5e-4, b=1.25e-4)[size]
    else:
        assert facts(finetune)[0] == dict(t=1e-3, s=5e-4, b=5e-4)[size]
    assert linear.protocol.encoder == 'target'  # the online one where there is no other
