"""Which keys a process draws."""

import pytest

from mixcl.datasets import KeyedSampler
from mixcl.errors import UserError


@pytest.mark.parametrize(('num_images', 'world_size'), [(10, 1), (10, 3), (3, 3)])
def test_processes_share_the_images_evenly(num_images: int, world_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    for rank in range(world_size):
        monkeypatch.setattr('mixcl.datasets.samplers.keyed.get_dist_info', lambda rank=rank: (rank, world_size))
        sampler = KeyedSampler(range(num_images), seed=1)
        sampler.set_epoch(5)
        keys = list(sampler)
        assert {key[:2] for key in keys} == {(1, 5)}
        assert len(keys) == len(sampler) == num_images // world_size
        shares.append({key.index for key in keys})
    assert len(set().union(*shares)) == sum(map(len, shares))


def test_order_follows_seed_and_epoch() -> None:
    def order(seed: int, epoch: int, shuffle: bool = True) -> list[int]:
        sampler = KeyedSampler(range(50), seed=0, shuffle=shuffle)
        sampler.seed = seed
        sampler.set_epoch(epoch)
        return [key.index for key in sampler]

    assert order(1, 2) == order(1, 2)
    assert sorted(order(1, 2)) == order(1, 2, shuffle=False) == list(range(50))
    # With seed + epoch, as in mmengine, these two would be the same.
    assert order(1, 2) != order(2, 1)


@pytest.mark.parametrize('world_size', [1, 2, 4])
def test_epochs_of_whole_steps(world_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30 images the first 24 of the order make three steps of 8, on any number of processes."""
    order = [key.index for key in KeyedSampler(range(30), seed=7)]
    shares = []
    for rank in range(world_size):
        monkeypatch.setattr('mixcl.datasets.samplers.keyed.get_dist_info', lambda rank=rank: (rank, world_size))
        sampler = KeyedSampler(range(30), seed=7, multiple_of=8)
        shares.append([key.index for key in sampler])
        assert len(shares[-1]) == len(sampler) == 24 // world_size
    assert [index for step in zip(*shares, strict=True) for index in step] == order[:24]
    monkeypatch.setattr('mixcl.datasets.samplers.keyed.get_dist_info', lambda: (0, 4))
    with pytest.raises(UserError, match=r'3 image\(s\) for 4 processes'):
        KeyedSampler(range(3))
    with pytest.raises(UserError, match=r'7 image\(s\), fewer than the 8 of one step'):
        KeyedSampler(range(7), multiple_of=8, seed=0)
