"""The papers' numbers: counts, and which of them belong to a checkpoint and a recipe.

Rates, batches and epochs are compared with papers and authors' code row by row; labels in configs are not trusted.
"""

import functools
import re
from collections import Counter

import pytest
from evaluation.composed import CONFIGS, composed, composed_facts, numbers, recipe_of
from mmengine.config import Config

from mixcl.evaluation.published import all_published, papers_numbers, published_of_config
from mixcl.recipes.prepared import prepared
from mixcl.recipes.recipe_table import PROTOCOLS, TABLE
from mixcl.recipes.subject import Subject
from mixcl.weights.pretrained import PretrainedBackbone


def test_how_many_numbers_each_table_has() -> None:
    counts = Counter(row['source'] for row in all_published())
    # Cells: PatchMix's Table 2 has 19 rows of up to 3, Table 3 has 17 cells of 6, Table 4 has 6 rows of 2.
    assert counts['PatchMix, Table 2'] == 37
    assert counts['PatchMix, Table 3'] == 17 * 6
    assert [counts[f'PatchMix, Table {table}'] for table in (4, 5, 6, 7)] == [12, 20, 16, 16]
    assert [counts[f'MixCo, Table {table}'] for table in (1, 2, 3, 4)] == [3 + 8 * 3, 4, 8, 12]
    assert [counts[f'SDMP, Table {table}'] for table in range(1, 12)] == [21, 6, 8, 16, 24, 16, 8, 8, 3, 8, 5]
    assert [counts[f'APS, Table {table}'] for table in range(1, 8)] == [19, 42, 10, 10, 10, 8, 12]
    assert [counts[f'BSIM, Table {table}'] for table in (1, 2)] == [12 * 9 + 1, 11 * 7 + 6]
    assert sum(counts.values()) == len(all_published())


def test_every_row_is_a_percentage_of_a_known_protocol_and_names_an_existing_config() -> None:
    for row in all_published():
        assert 0 < row['value'] < 100
        assert row['protocol'] in {*PROTOCOLS, 'detection'}
        assert 'config' not in row or (CONFIGS / f'{row["config"]}.py').is_file(), row


def test_numbers_of_training_from_scratch() -> None:
    for name, epochs, data, expected in (
        ('dino/vit-s16_in1k', 300, 'in1k', {79.8}),
        ('mocov2/r18_tinyimagenet', 100, 'tinyimagenet', {63.96}),
        ('mocov2/r18_tinyimagenet', 90, 'tinyimagenet', set()),
    ):
        untrained = Subject(config=Config(dict(config_name=name)))
        for protocol, values in (('supervised', expected), ('linear', set())):
            cfg = Config(dict(protocol=dict(name=protocol), train_cfg=dict(max_epochs=epochs)))
            assert {row['value'] for row in papers_numbers(untrained, data, cfg, CONFIGS)} == values


def test_the_model_and_what_else_numbers_of_a_config_differ_by_decide() -> None:
    """Neither the place of the data nor the batch decides."""
    patchmix, aps = 'patchmix/vit-s2_cifar10', 'aps/vit-t2_cifar10_clip'
    moved = {'batch': 64, 'data.images.data_root': 'elsewhere'}
    for name, changes, epochs, protocol, data, expected in (
        (patchmix, {}, 800, 'linear', 'cifar10', {96.0}),
        (patchmix, {'model.mixer.num_mix': 2}, 800, 'linear', 'cifar10', {95.6}),
        (patchmix, {'model.mixer.num_mix': 5}, 800, 'linear', 'cifar10', set()),
        ('patchmix/vit-s16_in1k', moved, 300, 'knn', 'in1k', {73.3}),
        (aps, {'hooks.clip.momentum': 0.8}, 1600, 'finetune', 'cifar10', {96.8}),
    ):
        trained = prepared(CONFIGS / f'{name}.py', cfg_options=changes)
        trained = Config.fromstring(trained.pretty_text, '.py')  # as a checkpoint stores it
        encoders = dict(online=PretrainedBackbone('x.pth', 'online', {}, epochs=epochs))
        subject, cfg = Subject('x.pth', encoders=encoders, config=trained), composed(protocol, data, name)
        assert {row['value'] for row in papers_numbers(subject, data, cfg, CONFIGS)} == expected, (name, changes)


# By the first expression that matches '<protocol> <source> <metric> <config>': learning rate, batch, epochs.
EXPECTED = {
    r'linear PatchMix, Table 2 top1 patchmix/vit-s16': (0.08, 1024, 100),
    r'linear PatchMix, Table 2 top1 patchmix/vit-b16': (0.04, 1024, 100),
    r'linear PatchMix, Table 2 top1 (dino|ibot)/': (0.004, 1024, 100),
    r'linear PatchMix, Table 2 top1 (mocov3|sdmp|simclr|byol|swav)/': (12, 1024, 90),
    r'linear PatchMix, Table [3567] top1 \w+/vit-t2': (0.05, 256, 100),
    r'linear PatchMix, Table [3567] top1 \w+/vit-s2': (0.02, 256, 100),
    r'linear PatchMix, Table [3567] top1 \w+/vit-b2': (0.01, 256, 100),
    r'linear MixCo, Table 3 ': (30, 256, 100),
    r'linear MixCo, Table [124] ': (3, 256, 100),
    r'linear SDMP, .* top1 (dino/vit|sdmp/vit-\w+_dino)': (0.004, 1024, 100),
    r'linear SDMP, .* top1 \w+/vit': (12, 1024, 90),
    r'linear SDMP, .* top1 swav/r50': (0.3, 256, 100),
    r'linear SDMP, .* top1 (mocov1|mocov2|simclr|byol)/r50': (30, 256, 100),
    r'linear SDMP, .* top1 \w+/r50_in1k': (0.4, 1024, 90),
    r'linear SDMP, Table 5 top1 \w+/r': (0.1, 256, 90),
    r'linear BSIM, Table 2 feat\d': (0.01, 256, 90),
    r'linear BSIM, Table 2 top1 (.*simsiam|swav/)': (1.6, 4096, 90),
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
    r'finetune APS, .* top1 mae/vit-[sb]16': (2e-3, 1024, 100),
    r'finetune APS, .* top1 ibot/vit-s16': (1e-3, 1024, 100),  # APS does not say: those of DINO and PatchMix
    r'finetune APS, .* top1 ibot/vit-b16': (2e-3, 1024, 100),
    r'finetune APS, .* top1 simmim/vit-b16': (5e-3, 2048, 100),
    r'finetune APS, .* top1 aps/vit-[sb]16': (2e-3, 1024, 100),  # not published: those of PatchMix and MAE
}
KEYS = ('config', 'epochs', 'data', 'protocol')
BEST_OF_TWO = 'best_of_all_top1'
"""Best of BSIM's five depths and the pooled output: no single recipe gives it, and we have no such metric."""


@functools.cache
def evaluated(protocol: str, data: str, config: str, recipe: str | None) -> Config | None:
    """Return the facts of a training; robustness takes those of the classifier fine-tuned in the same call."""
    protocol, data = ('finetune', 'in1k') if protocol == 'robustness' else (protocol, data)
    exists = recipe_of(protocol, data, config, recipe=recipe) is not None
    return composed_facts(protocol, data, config, recipe=recipe) if exists else None


@pytest.mark.long
def test_no_number_of_another_recipe_stands_beside_a_result_and_every_one_beside_some() -> None:
    """This holds by default and with every ``--recipe``."""
    protocols = ('linear', 'finetune', 'robustness')
    rows = [row for row in all_published() if row['protocol'] in protocols and row['metric'] != BEST_OF_TWO]
    expected, seen = {id(row): row for row in rows if 'config' in row}, set()  # by id: all come from one list
    for place in {tuple(row.get(key) for key in KEYS) for row in expected.values()}:
        config, epochs, data, protocol = place
        table = TABLE['finetune' if protocol == 'robustness' else protocol]
        for recipe in (None, *{name for row in table for name in row.names.split()} - {'*'}):
            cfg = evaluated(protocol, data, config, recipe)
            for row in published_of_config(config, epochs, data, {**cfg.protocol, 'name': protocol}) if cfg else []:
                if id(row) in expected:
                    text = f'{protocol} {row["source"]} {row["metric"]} {config}'
                    rates = next(fact for pattern, fact in EXPECTED.items() if re.match(pattern, text))
                    assert numbers(cfg) == pytest.approx(rates), (text, row['value'])
                    seen.add(id(row))
    assert seen == set(expected)


def test_numbers_by_recipe_and_labels() -> None:
    """MoCo v3 has the number of its own fine-tuning and that of SDMP's; BSIM on SimSiam has its number by default."""
    mocov3, sdmp = 'mocov3/vit-s16_in1k', 'sdmp/vit-s16_in1k_mocov3'
    for config, epochs, protocol, recipe, expected in (
        (mocov3, 300, 'finetune', None, {81.4}),
        (mocov3, 299, 'finetune', None, set()),
        (mocov3, 300, 'finetune', 'sdmp', {78.7}),
        (mocov3, 300, 'finetune', 'patchmix', set()),
        ('bsim/r50_in1k_simsiam', 200, 'linear', None, {70.4}),
        ('wbsim/r50_in1k_simsiam', 200, 'linear', None, {70.8}),
        (sdmp, 300, 'semi', '1percent', {55.5}),
        (sdmp, 300, 'semi', '10percent', {67.4}),
    ):
        settings = evaluated(protocol, 'in1k', config, recipe).protocol
        assert {row['value'] for row in published_of_config(config, epochs, 'in1k', settings)} == expected
    assert published_of_config(sdmp, 300, 'in1k', dict(name='semi', share=0.3)) == []
    assert published_of_config(None, 300, 'in1k', settings) == []
