"""How weights lie in memory."""

import pytest
import torch
from hosts import byol
from torch import nn

from mixcl.engine.runners.channels_last import put_channels_last
from mixcl.registry import MODELS


@pytest.mark.parametrize(('backbone', 'last'), [('resnet', True), ('vit', False)])
def test_resnets_keep_channels_last_and_transformers_do_not(backbone: str, last: bool) -> None:
    model = MODELS.build(byol(backbone=backbone))
    images = [torch.randn(4, 3, 8, 8) for _ in range(2)]
    before = model.loss(images)
    put_channels_last(model)
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d) and layer.kernel_size[0] > 1]
    assert all(layer.weight.is_contiguous(memory_format=torch.channels_last) == last for layer in layers)
    torch.testing.assert_close(model.loss(images), before, rtol=1e-4, atol=1e-5)
