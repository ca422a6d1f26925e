"""The model of protocols on features."""

import pytest
import torch

from mixcl.errors import UserError
from mixcl.evaluation.models.frozen_encoder import FrozenEncoder

RESNET = dict(type='mmpretrain.ResNet', depth=18, base_channels=4, stem_channels=4)


def test_features_are_those_of_the_backbone() -> None:
    model = FrozenEncoder(RESNET, data_preprocessor=dict(type='mmpretrain.SelfSupDataPreprocessor'))
    images = torch.randn(2, 3, 32, 32)
    model.train()
    found = model.extract_features(images, encoder='online')
    model.eval()
    torch.testing.assert_close(found, model.backbone.backbone(images)[-1].mean(dim=(2, 3)))
    assert found.shape == (2, 32) and not found.requires_grad
    grid = FrozenEncoder(RESNET, dict(type='PooledGrid', kernel=1))
    assert grid.extract_features(torch.randn(2, 3, 64, 64)).shape == (2, 32 * 4)


def test_what_it_does_not_have() -> None:
    with pytest.raises(UserError, match="has the encoder online only, not 'target'"):
        FrozenEncoder(RESNET).extract_features(torch.randn(1, 3, 32, 32), encoder='target')
    stages = dict(type='PooledStages', kernels=(1,) * 5, strides=(1,) * 5, paddings=(0,) * 5)
    with pytest.raises(UserError, match='PooledStages gives 5 vectors per image, but this protocol compares one'):
        FrozenEncoder(RESNET, stages).extract_features(torch.randn(1, 3, 32, 32))
