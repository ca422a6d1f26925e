"""Batches by orientation: as mmdet makes them, and from the middle of an epoch on."""

import pytest
from mmdet.datasets.samplers import AspectRatioBatchSampler

from mixcl.datasets import KeyedSampler
from mixcl.registry import DATA_SAMPLERS


class Images:
    """Upright and wide images in an irregular order."""

    def __len__(self):
        return 20

    def get_data_info(self, key):
        upright = key.index % 3 == 0
        return dict(width=1 if upright else 2, height=2 if upright else 1)


@pytest.mark.parametrize('size', [2, 3])
@pytest.mark.parametrize('drop_last', [False, True])
def test_they_are_mmdets_from_any_batch_on(drop_last, size):
    """Batches agree after an interrupted pass, too; a full last batch, of both shapes, is never dropped."""
    sampler = KeyedSampler(Images(), seed=1)
    settings = dict(type='mixcl.KeyedAspectRatioBatchSampler', sampler=sampler, batch_size=size, drop_last=drop_last)
    made = DATA_SAMPLERS.build(settings)
    whole = [batch for batch in AspectRatioBatchSampler(sampler, size) if len(batch) == size or not drop_last]
    assert len(made) == len(whole)
    for made.start in range(len(whole)):
        next(iter(made))
        assert list(made) == whole[made.start :]
