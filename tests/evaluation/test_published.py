"""The papers' numbers: spot checks, counts, and which of them belong to a checkpoint."""

from collections import Counter
from pathlib import Path

import pytest
from mmengine.config import Config

from mixcl.evaluation.published import (
    all_published,
    matching,
    published_from_scratch,
    published_of_config,
    same_recipe,
)
from mixcl.evaluation.selection import PROTOCOLS

CONFIGS = Path(__file__).parents[2] / 'configs'


@pytest.mark.parametrize(
    ('config', 'epochs', 'protocol', 'data', 'metric', 'value', 'source'),
    [
        ('patchmix/vit-s16_in1k', 300, 'linear', 'in1k', 'top1', 77.4, 'PatchMix, Table 2'),
        ('patchmix/vit-s16_in1k_800e', 800, 'knn', 'in1k', 'top1', 74.3, 'PatchMix, Table 2'),
        ('patchmix/vit-b2_cifar100', 800, 'finetune', 'cifar100', 'top1', 86.0, 'PatchMix, Table 3'),
        ('mocov3/vit-t2_cifar10', 800, 'knn', 'cifar10', 'top1', 88.1, 'PatchMix, Table 3'),
        ('patchmix/vit-b16_in1k', 300, 'detection', 'coco', 'mask_AP', 46.1, 'PatchMix, Table 4'),
        ('mixco/r34_tinyimagenet_mocov2', 200, 'linear', 'cifar100', 'top1', 52.67, 'MixCo, Table 1'),
        ('mixco/r18_tinyimagenet_mocov2', 400, 'linear', 'tinyimagenet', 'top5', 72.72, 'MixCo, Table 4'),
        ('sdmp/vit-s16_in1k_dino', 300, 'robustness', 'imagenet-r', 'top1', 45.3, 'SDMP, Table 4'),
        ('sdmp/r101_cifar100_mocov3', 2000, 'linear', 'cifar100', 'top1', 80.0, 'SDMP, Table 5'),
        ('sdmp/vit-s16_in100_dino', 300, 'linear', 'in100', 'top1', 83.2, 'SDMP, Table 11'),
        ('aps/vit-b16_in1k', 800, 'finetune', 'in1k', 'top1', 84.7, 'APS, Table 1'),
        ('aps/vit-s2_cifar100', 3200, 'finetune', 'cifar100', 'top1', 85.6, 'APS, Table 2'),
        ('wbsim/r50_in1k_mocov2', 200, 'svm', 'voc07', 'svm_map', 85.4, 'BSIM, Table 1'),
        ('bsim/r50_in1k_byol_300e', 300, 'lowshot', 'voc07', 'lowshot4_map', 66.4, 'BSIM, Table 1'),
        ('bsim/r50_in1k_simclr', 200, 'linear', 'in1k', 'feat3_top1', 42.7, 'BSIM, Table 2'),
    ],
)
def test_single_numbers(
    config: str, epochs: int, protocol: str, data: str, metric: str, value: float, source: str
) -> None:
    rows = published_of_config(config, epochs, protocol, data)
    assert (metric, value, source) in [(row.metric, row.value, row.source) for row in rows]


def test_how_many_numbers_each_table_has() -> None:
    counts = Counter(row.source for row in all_published())
    # Cells of the tables: PatchMix 2 has 19 rows of up to 3, 3 has 17 cells of 6, 4 has 6 rows of 2.
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
        assert 0 < row.value < 100
        assert row.protocol in {*PROTOCOLS, 'detection'}
        assert row.config is None or (CONFIGS / f'{row.config}.py').is_file(), row


def test_numbers_of_training_from_scratch() -> None:
    assert {row.value for row in published_from_scratch('vit-s16', 300, 'in1k')} == {79.8}
    assert [row.value for row in published_from_scratch('r18', 100, 'tinyimagenet')] == [63.96]
    assert published_from_scratch('r18', 90, 'tinyimagenet') == []


def test_an_unknown_config_or_other_epochs_have_no_numbers() -> None:
    assert published_of_config(None, 300, 'linear', 'in1k') == []
    assert published_of_config('patchmix/vit-s16_in1k', 299, 'linear', 'in1k') == []


def test_the_subset_of_labels_decides() -> None:
    rows = published_of_config('sdmp/vit-s16_in1k_mocov3', 300, 'semi', 'in1k')
    assert sorted(row.value for row in rows) == [55.5, 67.4]
    assert [row.value for row in matching(rows, dict(name='semi', list_file='1percent.txt'))] == [55.5]
    assert matching(rows, dict(name='semi', share=0.3)) == []


def trained_with(name: str, **changes: object) -> Config:
    cfg = Config.fromfile(CONFIGS / f'{name}.py')
    cfg.merge_from_dict({key.replace('__', '.'): value for key, value in changes.items()})
    return Config.fromstring(cfg.pretty_text, '.py')  # as a checkpoint stores it


def values(trained: Config, name: str, epochs: int, protocol: str, data: str) -> set[float]:
    rows = published_of_config(name, epochs, protocol, data)
    return {row.value for row in rows if same_recipe(row, trained, CONFIGS)}


def test_overrides_of_the_model_lead_to_the_row_of_the_ablation() -> None:
    name = 'patchmix/vit-s2_cifar10'
    found = [
        values(trained_with(name, **changes), name, 800, 'linear', 'cifar10')
        for changes in ({}, dict(model__mixer__num_mix=2), dict(model__mixer__num_mix=5))
    ]
    assert found == [{96.0}, {95.6}, set()]


def test_another_place_of_the_data_or_batch_size_is_the_same_recipe() -> None:
    name = 'patchmix/vit-s16_in1k'
    moved = trained_with(name, train_dataloader__batch_size=64)
    moved.train_dataloader.dataset.dataset.data_root = 'elsewhere'
    assert values(moved, name, 300, 'knn', 'in1k') == {73.3}


def test_overrides_outside_the_model_count_where_a_row_has_them() -> None:
    name = 'aps/vit-t2_cifar10_clip'
    trained = trained_with(name)
    trained.custom_hooks[2].momentum = 0.8
    assert values(trained, name, 1600, 'finetune', 'cifar10') == {96.8}
