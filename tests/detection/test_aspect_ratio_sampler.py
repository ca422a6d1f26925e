"""Batches by orientation: as mmdet makes them, and from the middle of an epoch on."""

import pytest
from mmdet.datasets.samplers import AspectRatioBatchSampler

from mixcl.datasets import KeyedSampler
from mixcl.registry import DATA_SAMPLERS

BATCH_SIZE = 3


class Images:
    """Upright and wide ones in an irregular order."""

    def __len__(self):
        return 20

    def get_data_info(self, key):
        upright = key.index % 3 == 0
        return dict(width=1 if upright else 2, height=2 if upright else 1)


def batches(start=0, **options):
    sampler = KeyedSampler(Images(), seed=1)
    settings = dict(type='mixcl.KeyedAspectRatioBatchSampler', sampler=sampler, batch_size=BATCH_SIZE, **options)
    made = DATA_SAMPLERS.build(settings)
    made.start = start
    return made


@pytest.mark.parametrize('drop_last', [False, True])
def test_they_are_mmdets(drop_last):
    made = batches(drop_last=drop_last)
    assert list(made) == list(AspectRatioBatchSampler(made.sampler, BATCH_SIZE, drop_last))
    assert len(list(made)) == len(made)


def test_an_epoch_continues_where_it_was_left():
    whole = list(batches())
    assert all(list(batches(start)) == whole[start:] for start in range(len(whole)))


def test_a_pass_that_was_broken_off_leaves_nothing_behind():
    made = batches()
    whole = list(made)
    next(iter(made))
    assert list(made) == whole
