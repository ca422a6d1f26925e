"""Evaluation gives the same digits, to the last, whatever the batches, the workers and the processes."""

from pathlib import Path

import pytest
import torch
import torch.multiprocessing
from evaluation.digit_features import config, evaluate, one_of_two


@pytest.fixture(scope='module')
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, float], torch.Tensor]:
    return evaluate(config(str(tmp_path_factory.mktemp('reference')), 32, 0))


def same(found: tuple[dict, torch.Tensor], expected: tuple[dict, torch.Tensor]) -> bool:
    return found[0] == expected[0] and torch.equal(found[1], expected[1])


def test_the_reference_is_worth_comparing_with(reference: tuple[dict[str, float], torch.Tensor]) -> None:
    metrics, features = reference
    assert features.shape == (99, 128)
    assert 10 < metrics['online_knn10_top1'] < 100


@pytest.mark.parametrize(('batch_size', 'workers'), [(7, 2), (99, 0)])
def test_batch_size_and_workers(
    tmp_path: Path, reference: tuple[dict[str, float], torch.Tensor], batch_size: int, workers: int
) -> None:
    assert same(evaluate(config(str(tmp_path), batch_size, workers)), reference)


def test_two_processes_with_an_uneven_last_batch(
    tmp_path: Path, reference: tuple[dict[str, float], torch.Tensor]
) -> None:
    torch.multiprocessing.spawn(one_of_two, (str(tmp_path), 7), nprocs=2)
    for rank in (0, 1):
        assert same(torch.load(tmp_path / f'rank{rank}.pth'), reference)
