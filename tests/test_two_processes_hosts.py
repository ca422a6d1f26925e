"""Two processes with half of a batch each train every host as one process with the whole batch does."""

import functools

import host_pairs
import pairs
import pytest
import torch
from host_pairs import BATCH, LOCAL, SEED, STEP, WHOLE
from one_process import one_process
from pairs import RANKS
from torch.nn import functional

from mixcl.randomness import generator

close = functools.partial(torch.testing.assert_close, rtol=1e-8, atol=1e-8)


@pytest.fixture(scope='module')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the two processes found."""
    return pairs.run_pair(host_pairs.everything, tmp_path_factory.mktemp('hosts'))


@pytest.mark.parametrize('name', [*WHOLE, *LOCAL])
def test_losses_are_those_of_one_process(pair: list[dict], name: str) -> None:
    expected = one_process(name)['losses']
    close({key: (pair[0][name]['losses'][key] + pair[1][name]['losses'][key]) / 2 for key in expected}, expected)
    assert pair[0][name]['losses'] != pair[1][name]['losses']


@pytest.mark.parametrize('name', [*WHOLE, *LOCAL])
@pytest.mark.parametrize('rank', RANKS)
def test_gradients_are_those_of_one_process(pair: list[dict], name: str, rank: int) -> None:
    expected = one_process(name)['gradients']
    assert max(gradient.abs().max() for gradient in expected.values()) > 1e-3
    close(pair[rank][name]['gradients'], expected)


@pytest.mark.parametrize('name', [name for name in WHOLE if 'DINO' in name or 'MoCo v2' in name or 'MoCo v1' in name])
@pytest.mark.parametrize('rank', RANKS)
def test_queues_and_centres_hold_what_all_processes_found(pair: list[dict], name: str, rank: int) -> None:
    expected = one_process(name)['memory']
    before = dict(host_pairs.build(name).named_buffers())
    assert expected and all(not torch.equal(value, before[key]) for key, value in expected.items())
    close(pair[rank][name]['memory'], expected)


# ----- written out -----


@pytest.mark.parametrize('name', [name for name in WHOLE if name.endswith('on a ResNet')])
def test_keys_are_encoded_in_the_shuffled_blocks(pair: list[dict], name: str) -> None:
    """One process encodes each block of the permuted batch by itself and puts the rows back in their places."""
    learner = host_pairs.build(name)
    images = torch.cat([host_pairs.crops(learner, rank)[1] for rank in RANKS])
    order = torch.randperm(2 * BATCH, generator=generator(SEED, STEP, 'shuffle', 'view2'))
    assert order[:BATCH].sort().values.tolist() != list(range(BATCH)), 'the blocks must mix the processes'
    keys = torch.empty(2 * BATCH, 12, dtype=torch.float64)
    with torch.no_grad():
        for block in order.chunk(2):
            keys[block] = functional.normalize(learner.target.neck(learner.target.backbone(images[block])[-1]), dim=1)
    for found in pair:
        close(found[name]['memory']['memory.queue.vectors'][: 2 * BATCH], keys)
