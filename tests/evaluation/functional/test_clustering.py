import math

import pytest
import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes


def clusters(spread: float = 0.2) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    labels = torch.arange(4).repeat(25) * 3
    centres = torch.randn(12, 6, generator=random)
    return centres[labels] + spread * torch.randn(len(labels), 6, generator=random), labels


@pytest.mark.parametrize('labels', [torch.zeros(6, dtype=torch.int64), torch.arange(6)])
def test_labels_without_clusters_are_refused(labels: Tensor) -> None:
    with pytest.raises(UserError, match=r'two classes or more, .* 6 images have \d classes'):
        cluster_indices(torch.randn(6, 3), labels)


def test_the_map_keeps_classes_together_and_follows_the_seed() -> None:
    features, labels = clusters()
    mapped = map_to_plane(features)
    assert mapped.shape == (100, 2)
    nearest = torch.cdist(mapped, mapped).fill_diagonal_(torch.inf).argmin(dim=1)
    assert (labels[nearest] == labels).float().mean() > 0.95
    assert torch.equal(mapped, map_to_plane(features))
    assert map_to_plane(features[:3, :2]).isfinite().all()  # so few cannot have the usual perplexity


def test_some_images_of_some_classes_are_drawn_by_the_seed() -> None:
    labels = torch.arange(20).repeat(30)[torch.randperm(600, generator=torch.Generator().manual_seed(1))]
    chosen = some_of_some_classes(labels, classes=4, images=9)
    classes, counts = labels[chosen].unique(return_counts=True)
    assert len(classes) == 4 and counts.tolist() == [9] * 4
    assert torch.equal(chosen, chosen.unique())
    assert torch.equal(chosen, some_of_some_classes(labels, classes=4, images=9))
    assert not torch.equal(classes, labels[some_of_some_classes(labels, classes=4, images=9, seed=1)].unique())
    assert some_of_some_classes(labels, classes=30, images=1000).tolist() == list(range(600))


def test_of_collapsed_features_nothing_can_be_said_and_very_small_ones_are_as_large_ones() -> None:
    """scikit-learn's map of either kind would end the process."""
    features, labels = clusters()
    same = torch.full_like(features, 0.1)
    assert map_to_plane(same).isnan().all()
    assert all(math.isnan(value) for value in cluster_indices(same, labels).values())
    assert cluster_indices(features * 1e-30, labels) == pytest.approx(cluster_indices(features, labels), rel=1e-4)
    assert map_to_plane(features * 1e-30).isfinite().all()
