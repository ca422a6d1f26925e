"""Repeated augmentation: how often, where, and under which keys."""

from collections import Counter

import pytest

from mixcl.datasets import KeyedSampler, RepeatedKeyedSampler, SampleKey
from mixcl.errors import UserError


def keys_of(sampler: RepeatedKeyedSampler, rank: int, world_size: int) -> list[SampleKey]:
    sampler.rank, sampler.world_size = rank, world_size
    return list(sampler)


def test_a_third_of_the_images_three_times() -> None:
    sampler = RepeatedKeyedSampler(range(30), repeats=3, seed=7)
    keys = list(sampler)
    assert len(keys) == len(sampler) == 30
    assert sorted(Counter(key.index for key in keys).values()) == [3] * 10
    order = [key.index for key in KeyedSampler(range(30), seed=7)]
    assert [key.index for key in keys[::3]] == order[:10]
    with pytest.raises(UserError, match='repeats must be at least 1, not 0'):
        RepeatedKeyedSampler(range(10), repeats=0)


def test_no_two_samples_of_a_run_share_a_key() -> None:
    sampler = RepeatedKeyedSampler(range(20), repeats=3, seed=7)
    seen = []
    for epoch in range(4):
        sampler.set_epoch(epoch)
        seen += list(sampler)
    assert len(set(seen)) == len(seen) == 80


def test_an_image_goes_to_neighbouring_processes() -> None:
    sampler = RepeatedKeyedSampler(range(31), repeats=3, seed=7)
    single = keys_of(sampler, 0, 1)
    shares = [keys_of(sampler, rank, 3) for rank in range(3)]
    assert [len(share) for share in shares] == [10] * 3
    for copies in zip(*shares, strict=True):
        assert len({key.index for key in copies}) == 1 and len({key.epoch for key in copies}) == 3
    assert [key for copies in zip(*shares, strict=True) for key in copies] == single[:30]


def test_one_repeat_is_the_plain_sampler() -> None:
    for shuffle in (True, False):
        plain = list(KeyedSampler(range(10), seed=7, shuffle=shuffle))
        assert list(RepeatedKeyedSampler(range(10), repeats=1, seed=7, shuffle=shuffle)) == plain


def test_a_resumed_epoch_begins_where_it_was_left() -> None:
    sampler = RepeatedKeyedSampler(range(10), repeats=3, seed=7)
    shares = [keys_of(sampler, rank, 2) for rank in range(2)]
    sampler.start = 2
    assert [keys_of(sampler, rank, 2) for rank in range(2)] == [share[2:] for share in shares]
