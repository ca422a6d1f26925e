import math

import numpy as np
import pytest
import torch
from torch import Tensor

from mixcl import feature_statistics
from mixcl.feature_statistics import class_alignment, effective_rank, lidar, uniformity


def features(rows: int, dimensions: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, dimensions, generator=torch.Generator().manual_seed(seed)) + 0.3


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_statistics, 'ROWS_AT_ONCE', 3)


def distances(values: Tensor, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return squared distances between the unit vectors of the pairs."""
    rows = values.double().numpy()
    points = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.array([np.sum((points[i] - points[j]) ** 2) for i, j in pairs])


@pytest.mark.parametrize('rows', [2, 7, 40])
def test_uniformity_is_that_of_all_pairs(rows: int) -> None:
    values = features(rows, 5)
    expected = math.log(np.exp(-2 * distances(values, [(i, j) for i in range(rows) for j in range(i)])).mean())
    assert uniformity(values).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize('shape', [(40, 6), (5, 9), (1, 4)])
def test_effective_rank_is_that_of_the_singular_values(shape: tuple[int, int]) -> None:
    values = features(*shape)
    singular = np.linalg.svd(values.double().numpy(), compute_uv=False)
    shares = singular / singular.sum()
    assert effective_rank(values).item() == pytest.approx(math.exp(-np.sum(shares * np.log(shares))), rel=1e-6)


def test_effective_rank_counts_equal_directions() -> None:
    assert effective_rank(torch.eye(6)[[0, 1, 2, 0, 1, 2]]).item() == pytest.approx(3)
    assert effective_rank(torch.zeros(3, 4)).item() == 1
    assert effective_rank(torch.tensor([[1.0, torch.nan], [0.0, 1.0]])).isnan()


def test_class_alignment_is_that_of_all_pairs_of_a_class() -> None:
    values, labels = features(23, 5), torch.tensor([4, 7, 4, 4, 9] * 4 + [7, 9, 2])
    expected = distances(values, [(i, j) for i in range(23) for j in range(i) if labels[i] == labels[j]]).mean()
    assert class_alignment(values, labels).item() == pytest.approx(expected, rel=1e-6)
    assert class_alignment(features(3, 5), torch.arange(3)).isnan()


def test_half_precision_is_computed_in_full() -> None:
    values = features(50, 8).half()
    for measure in (uniformity, effective_rank):
        assert measure(values).item() == pytest.approx(measure(values.double()).item(), rel=1e-5)


def test_lidar_is_that_of_loops() -> None:
    features = torch.randn(7, 4, 5, generator=torch.Generator().manual_seed(0)) * torch.arange(1, 6)
    rows = features.double().numpy()
    means = rows.mean(axis=1)
    between, within = np.zeros((5, 5)), 1e-4 * np.eye(5)
    for image in range(7):
        between += np.outer(*[means[image] - means.mean(axis=0)] * 2) / 7
        for view in range(4):
            within += np.outer(*[rows[image, view] - means[image]] * 2) / 28
    values, directions = np.linalg.eigh(within)
    root = directions @ np.diag(values**-0.5) @ directions.T
    shares = np.linalg.eigvalsh(root @ between @ root)
    shares = shares / shares.sum()
    assert lidar(features).item() == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-6)
    assert lidar(features.where(features < 5, torch.nan)).isnan()


def test_lidar_counts_the_directions_in_which_images_differ() -> None:
    images = torch.eye(16)[:4] * 3 - torch.eye(16)[4:8] * 3  # of four, centred, three directions are left
    noise = torch.randn(4, 4000, 16, generator=torch.Generator().manual_seed(0))
    assert lidar(images[:, None] + noise).item() == pytest.approx(3, abs=0.1)
