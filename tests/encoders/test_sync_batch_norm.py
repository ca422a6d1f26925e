"""With one process it is BatchNorm; see test_two_processes.py for two."""

import pytest
import torch
from torch import nn

from mixcl.encoders import SyncBatchNorm
from mixcl.encoders.sync_batch_norm import has_batch_norm


@pytest.mark.parametrize('training', [True, False])
def test_one_process_is_batch_norm(training):
    layer, reference = SyncBatchNorm(3).train(training), nn.BatchNorm2d(3).train(training)
    x = torch.randn(4, 3, 5, 5)
    torch.testing.assert_close(layer(x), reference(x))
    torch.testing.assert_close(layer.state_dict(), reference.state_dict())


def test_shape_is_checked():
    with pytest.raises(ValueError, match='at least 2D'):
        SyncBatchNorm(3)(torch.randn(3))


def test_has_batch_norm():
    assert has_batch_norm(nn.Sequential(nn.Linear(1, 1), SyncBatchNorm(1)))
    assert not has_batch_norm(nn.Sequential(nn.Linear(1, 1), nn.LayerNorm(1)))
