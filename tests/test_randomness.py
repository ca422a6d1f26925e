import random

import numpy as np
import pytest
import torch

from mixcl.randomness import generator, seed_global_generators, seed_of


def test_the_digest_is_fixed() -> None:
    """Another number would change the random draws of every run."""
    assert seed_of(7, 0, 'mix1') == seed_of(np.int64(7), 0, 'mix1') == 7517582858257530333


def test_every_part_of_a_key_counts():
    keys = [(1, 2), (2, 1), (12,), (1, 2, 0), ('1', 2), ('1', '2'), (1, '2'), ('12',), ('1\x1fi2',)]
    assert len({seed_of(*key) for key in keys}) == len(keys)
    assert all(0 <= seed_of(*key) < 2**63 for key in keys)


@pytest.mark.parametrize('part', [1.0, None, True, (1, 2)])
def test_other_parts_are_refused(part):
    with pytest.raises(TypeError, match='integers and strings'):
        seed_of(part)


def test_global_generators_start_from_the_key():
    def draws() -> tuple:
        return random.random(), np.random.rand(), torch.rand(()).item()

    seed_global_generators(3, 'a')
    first = draws()
    seed_global_generators(3, 'b')
    assert all(one != other for one, other in zip(first, draws(), strict=True))
    seed_global_generators(3, 'a')
    assert draws() == first


def test_generators_are_functions_of_the_key():
    assert torch.equal(torch.rand(3, generator=generator(1, 2)), torch.rand(3, generator=generator(1, 2)))
    assert not torch.equal(torch.rand(3, generator=generator(1, 2)), torch.rand(3, generator=generator(1, 3)))
