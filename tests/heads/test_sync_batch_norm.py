"""SyncBatchNorm on one process equals BatchNorm; see test_two_processes.py for two."""

import pytest
import torch
from torch import nn

from mixcl.heads import SyncBatchNorm


@pytest.mark.parametrize('training', [True, False])
def test_one_process_is_batch_norm(training):
    layer, reference = SyncBatchNorm(3).train(training), nn.BatchNorm2d(3).train(training)
    x = torch.randn(4, 3, 5, 5)
    torch.testing.assert_close(layer(x), reference(x))
    torch.testing.assert_close(layer.state_dict(), reference.state_dict())
