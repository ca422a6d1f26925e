"""Widths of features, found without a table of classes."""

import pytest
import torch
from backbones.small_models import MODELS_AND_WIDTHS, images
from torch import nn

from mixcl.encoders.widths import feature_width
from mixcl.registry import MODELS

RESNET = dict(type='mmpretrain.ResNet', depth=18, base_channels=8, stem_channels=8, in_channels=5)
INCEPTION = dict(type='TorchvisionBackbone', name='inception_v3', arguments=dict(init_weights=False))


@pytest.mark.parametrize(
    ('config', 'width'),
    [*MODELS_AND_WIDTHS.values(), (RESNET, 64), (INCEPTION, 2048)],
    ids=lambda value: str(value)[:60],
)
def test_width(config: dict, width: int) -> None:
    assert feature_width(MODELS.build(config), config.get('in_channels', 3)) == width


def test_nothing_of_the_backbone_changes() -> None:
    backbone = MODELS.build(dict(type='mmpretrain.ResNet', depth=18, frozen_stages=1, norm_eval=False))
    backbone.train()
    backbone.layer2.eval()
    modes = [module.training for module in backbone.modules()]
    before, state = {key: value.clone() for key, value in backbone.state_dict().items()}, torch.get_rng_state()
    assert feature_width(backbone) == 512
    assert [module.training for module in backbone.modules()] == modes
    assert all(torch.equal(value, before[key]) for key, value in backbone.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in backbone.parameters())


def test_the_size_of_the_images_counts_where_it_is_given() -> None:
    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 2, 8, stride=8)

        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return self.stem(batch).flatten(1)

    backbone = Flat()
    assert feature_width(backbone, size=(64, 32)) == backbone(images(64)[:, :, :, :32]).shape[1] == 64
    with torch.device('meta'):
        assert feature_width(Flat(), size=16) == 8
