"""Four processes with a quarter of a batch each train as one process with the whole batch does: one of each kind."""

import functools

import host_pairs
import pairs
import pytest
import torch
from host_pairs import FOUR
from one_process import one_process

PROCESSES = 4

close = functools.partial(torch.testing.assert_close, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope='module')
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the four processes found."""
    return pairs.run_processes(host_pairs.four, tmp_path_factory.mktemp('four'), PROCESSES)


@pytest.mark.parametrize('name', FOUR)
def test_losses_gradients_and_memory_are_those_of_one_process(found: list[dict], name: str) -> None:
    expected = one_process(name, PROCESSES)
    losses = {key: sum(part[name]['losses'][key] for part in found) / PROCESSES for key in expected['losses']}
    close(losses, expected['losses'])
    assert max(gradient.abs().max() for gradient in expected['gradients'].values()) > 1e-3
    for part in found:
        close(part[name]['gradients'], expected['gradients'])
        close(part[name]['memory'], expected['memory'])
