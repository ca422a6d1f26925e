"""Two processes with half of a batch each are one with the whole batch, for every host with every mixer."""

import functools

import host_pairs
import pairs
import pytest
import torch
from host_pairs import GRID
from one_process import one_process
from pairs import RANKS

close = functools.partial(torch.testing.assert_close, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope='module')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the two processes found."""
    return pairs.run_pair(host_pairs.grid, tmp_path_factory.mktemp('grid'))


@pytest.mark.parametrize('name', GRID)
def test_losses_gradients_and_memory_are_those_of_one_process(pair: list[dict], name: str) -> None:
    expected = one_process(name)
    first, second = (pair[rank][name]['losses'] for rank in RANKS)
    assert first != second
    close({key: (first[key] + second[key]) / 2 for key in expected['losses']}, expected['losses'])
    assert max(gradient.abs().max() for gradient in expected['gradients'].values()) > 1e-3
    for rank in RANKS:
        close(pair[rank][name]['gradients'], expected['gradients'])
        if name not in host_pairs.OWN_KEYS:
            close(pair[rank][name]['memory'], expected['memory'])
