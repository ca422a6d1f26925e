"""Metrics of features return what the functions measure."""

import re

import pytest
import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.knn import knn_accuracy
from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.feature_statistics import class_alignment, effective_rank, feature_std, uniformity
from mixcl.registry import METRICS


def data(rows: int, seed: int, classes: int = 5) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    labels = torch.arange(rows) % classes
    return torch.randn(rows, 6, generator=random) + labels[:, None], labels


def measured(name: str, *sets: Tensor, **settings: object) -> dict[str, float]:
    return METRICS.build(dict(type=name, **settings)).compute(*sets)


def test_settings_reach_the_functions() -> None:
    bank, queries = data(80, 0), data(31, 1)
    found = measured('KNNAccuracy', *bank, *queries, neighbours=(5, 20), temperature=0.1)
    assert found == knn_accuracy(*queries, *bank, (5, 20), 0.1)
    settings = dict(rates=(0.03, 0.3), weight_decays=(0.0, 1e-3), epochs=3, batch_size=16, held_out=0.2, seed=4)
    found = measured('LinearProbeSweep', *bank, *queries, **settings)
    assert found == probe_sweep(*bank, *queries, ProbeSettings(**settings))


def test_quality_of_queries_and_clusters_of_the_bank() -> None:
    bank, (queries, labels) = data(100, 0), data(21, 1)
    values = measured('RepresentationQuality', *bank, queries, labels, classes=3, images=8, seed=2)
    chosen = some_of_some_classes(bank[1], 3, 8, seed=2)
    points, classes = bank[0][chosen], bank[1][chosen]
    expected = cluster_indices(points, classes) | dict(cluster_classes=3, cluster_images=24)
    expected |= {f'tsne_{name}': value for name, value in cluster_indices(map_to_plane(points, 2), classes).items()}
    expected |= dict(
        uniformity=uniformity(queries).item(), effective_rank=effective_rank(queries).item(),
        feature_std=feature_std(queries).item(), class_alignment=class_alignment(queries, labels).item(),
    )  # fmt: skip
    assert values == pytest.approx(expected)


NAN = float('nan')


@pytest.mark.parametrize(
    ('metric', 'setting', 'values'),
    [
        ('KNNAccuracy', 'temperature', (0, -1, NAN, float('inf'), True, '.07', None)),
        ('KNNAccuracy', 'neighbours', ((0,), (), (10, -1), (1.5,), 20, '20', (True,))),
        ('LinearProbeSweep', 'rates', ((0.0,), (NAN,), (), 0.1)),
        ('LinearProbeSweep', 'weight_decays', ((-1e-4,), ('0',))),
        ('LinearProbeSweep', 'epochs', (0, 2.5, True)),
        ('LinearProbeSweep', 'batch_size', (0, -256)),
        ('LinearProbeSweep', 'momentum', (1, -0.1, NAN)),
        ('LinearProbeSweep', 'held_out', (0, 1, '0.1')),
        ('FewLabels', 'shots', ((0,), (), (2.5,))),
        ('FewLabels', 'draws', (0, NAN)),
        ('VOCSVM', 'costs', ((0.0,), (-1.0,), (float('inf'),), ())),
        ('VOCSVM', 'jobs', (0, 'all')),
        ('VOCLowShot', 'samples', (0,)),
        ('VOCLowShot', 'seed', (-1, 2**32, 0.5)),
        ('RepresentationQuality', 'classes', (1, NAN)),
        ('StageAccuracy', 'topk', ((0, 1), 5)),
    ],
)
def test_settings_out_of_range_are_refused_before_anything_is_encoded(metric: str, setting: str, values: tuple) -> None:
    for value in values:
        with pytest.raises(UserError, match=f'{metric}: {setting} must be a .*, not {re.escape(repr(value))}'):
            METRICS.build({'type': metric, setting: value})
