import pytest
import torch
from torch import Tensor

from mixcl.algorithms.contrastive import feature_std
from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.quality import class_alignment, effective_rank, uniformity
from mixcl.evaluation.metrics.quality_metric import RepresentationQuality

UNLABELLED = {'uniformity', 'effective_rank', 'feature_std'}


def data(rows: int, seed: int, classes: int = 5) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    labels = torch.arange(rows) % classes
    return torch.randn(rows, 6, generator=random) + labels[:, None], labels


def measured(metric: RepresentationQuality, bank: tuple, queries: Tensor, labels: Tensor | None) -> dict[str, float]:
    metric.fit(*bank)
    metric.process(None, [dict(features=queries, labels=labels)])
    return metric.evaluate(len(queries))


def test_measures_queries_without_labels_and_clusters_of_the_bank() -> None:
    bank, (queries, labels) = data(100, 0), data(21, 1)
    values = measured(RepresentationQuality(classes=3, images=8, seed=2), bank, queries, labels)
    assert values['uniformity'] == uniformity(queries).item()
    assert values['effective_rank'] == effective_rank(queries).item()
    assert values['feature_std'] == feature_std(queries).item()
    assert values['class_alignment'] == class_alignment(queries, labels).item()
    chosen = some_of_some_classes(bank[1], 3, 8, seed=2)
    points, classes = bank[0][chosen], bank[1][chosen]
    expected = cluster_indices(points, classes)
    expected |= {f'tsne_{name}': value for name, value in cluster_indices(map_to_plane(points, 2), classes).items()}
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert (values['cluster_classes'], values['cluster_images']) == (3, 24)
    assert len(values) == 4 + len(expected) + 2


def test_a_smaller_data_set_says_how_many_there_were() -> None:
    queries, labels = data(9, 1)
    values = measured(RepresentationQuality(), data(20, 0), queries, labels)
    assert (values['cluster_classes'], values['cluster_images']) == (5, 20)


def test_images_without_labels_have_the_measures_that_need_none() -> None:
    bank, (queries, labels) = data(20, 0), data(9, 1)
    values = measured(RepresentationQuality(), (bank[0], None), queries, None)
    assert set(values) == UNLABELLED
    labelled = measured(RepresentationQuality(), bank, queries, labels)
    assert values == {name: labelled[name] for name in UNLABELLED}


@pytest.mark.parametrize('settings', [dict(classes=1), dict(images=1)])
def test_settings_are_checked_when_it_is_built(settings: dict) -> None:
    with pytest.raises(UserError, match=r'RepresentationQuality: (classes|images) must be 2 or more, not 1'):
        RepresentationQuality(**settings)


def test_unusable_features_are_refused() -> None:
    bank, (queries, labels) = data(20, 0), data(9, 1)
    with pytest.raises(UserError, match='query features contain NaN'):
        measured(RepresentationQuality(), bank, queries * torch.nan, labels)
    with pytest.raises(UserError, match='needs two images or more, not 1'):
        measured(RepresentationQuality(), bank, queries[:1], labels[:1])
