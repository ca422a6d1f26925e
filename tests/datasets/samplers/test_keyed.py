"""Which keys a process draws, and repeated augmentation: how often, where, and under which keys."""

from collections import Counter

import pytest

from mixcl.datasets import KeyedSampler, SampleKey
from mixcl.errors import UserError


def keys_of(
    rank: int = 0, world_size: int = 1, num_images: int = 30, epoch: int = 0, **settings: int
) -> list[SampleKey]:
    sampler = KeyedSampler(range(num_images), seed=7, **settings)
    sampler.rank, sampler.world_size = rank, world_size
    sampler.set_epoch(epoch)
    keys = list(sampler)
    assert len(keys) == len(sampler)
    return keys


def joined(world_size: int, **settings: int) -> list[SampleKey]:
    """Return the keys of all processes, in the order in which their steps take them."""
    shares = [keys_of(rank, world_size, **settings) for rank in range(world_size)]
    return [key for step in zip(*shares, strict=True) for key in step]


@pytest.mark.parametrize(('num_images', 'world_size'), [(10, 1), (10, 3), (3, 3), (31, 3)])
@pytest.mark.parametrize('repeats', [1, 3])
def test_processes_share_the_epoch_of_one_evenly(num_images: int, world_size: int, repeats: int) -> None:
    together = joined(world_size, num_images=num_images, epoch=5, repeats=repeats)
    assert together == keys_of(num_images=num_images, epoch=5, repeats=repeats)[: len(together)]
    assert len(together) == num_images // world_size * world_size
    if repeats == 1:
        assert {key[:2] for key in together} == {(7, 5)}
        assert len({key.index for key in together}) == len(together)


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


def test_epochs_of_whole_steps() -> None:
    """The first 24 of 30 images in order make three steps of 8, on any number of processes."""
    assert joined(1, multiple_of=8) == joined(4, multiple_of=8) == keys_of()[:24]


def test_fewer_images_than_processes_or_than_a_step_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('mixcl.datasets.samplers.keyed.get_dist_info', lambda: (0, 4))
    with pytest.raises(UserError, match=r'3 image\(s\) for 4 process\(es\)'):
        KeyedSampler(range(3), seed=0)
    with pytest.raises(UserError, match=r'7 image\(s\) for 4 process\(es\) and 8 in one step'):
        KeyedSampler(range(7), multiple_of=8, seed=0)


def test_repeated_a_third_of_the_images_comes_three_times() -> None:
    epochs = [keys_of(epoch=epoch, repeats=3) for epoch in range(4)]
    assert sorted(Counter(key.index for key in epochs[0]).values()) == [3] * 10
    assert [key.index for key in epochs[0][::3]] == [key.index for key in keys_of()][:10]
    assert len(set().union(*epochs)) == 4 * 30, 'no two samples of a run share a key'


def test_a_resumed_epoch_begins_where_it_was_left() -> None:
    sampler = KeyedSampler(range(10), seed=7, repeats=3)
    whole, sampler.start = list(sampler), 2
    assert list(sampler) == whole[2:]
