"""Target encoders: momentum, what is averaged, and how often a stream is encoded."""

import pytest
import torch
from torch import nn

from mixcl.encoders import EMA, EpochwiseEMA
from mixcl.encoders.passes import Inputs
from mixcl.registry import MODELS


def vit(drop_path_rate: float = 0.0) -> nn.Module:
    arch = dict(embed_dims=8, num_layers=3, num_heads=2, feedforward_channels=16)
    return MODELS.build(dict(type='ContrastiveViT', arch=arch, img_size=8, patch_size=4, drop_path_rate=drop_path_rate))


def head() -> nn.Module:
    return MODELS.build(dict(type='MLPHead', in_channels=8, hidden_channels=6, out_channels=4))


def test_momentum_follows_the_cosine():
    """methods.md 0.4: m0 = .996 over 300 epochs."""
    target = EMA(nn.Linear(1, 1), nn.Linear(1, 1), momentum=0.996)
    for epoch, expected in [(0, 0.996), (75, 0.9965858), (150, 0.998), (225, 0.9994142), (300, 1.0)]:
        assert target.momentum_at(epoch / 300, 300) == pytest.approx(expected, abs=1e-7)


def test_epochwise_momentum_is_constant_within_an_epoch():
    target = EpochwiseEMA(nn.Linear(1, 1), nn.Linear(1, 1), momentum=0.996)
    steps = [target.momentum_at(step / 3000, 300) for step in range(750, 760)]
    assert len(set(steps)) == 1 and steps[0] == pytest.approx(0.9965858, abs=1e-7)
    assert target.momentum_at(760 / 3000, 300) > steps[0]


def test_updates_are_those_of_a_loop_over_parameters():
    """Over a rising momentum, bit by bit."""
    backbone, neck = vit(), head()
    target = EMA(backbone, neck, momentum=0.9)
    naive = [parameter.detach().clone() for parameter in target.parameters()]
    assert not any(parameter.requires_grad for parameter in target.parameters())
    for step in range(5):
        with torch.no_grad():
            online = [*backbone.parameters(), *neck.parameters()]
            for parameter in online:
                parameter.add_(torch.randn_like(parameter))
            momentum = target.update(backbone, neck, step / 5, 1)['ema_momentum']
            assert momentum == target.momentum_at(step / 5, 1)
            for own, parameter in zip(naive, online, strict=True):
                own.lerp_(parameter, 1 - momentum)
    torch.testing.assert_close(list(target.parameters()), naive, rtol=0, atol=0)


def test_batch_norm_buffers_follow_the_targets_own_passes():
    backbone, neck = vit(), head()
    target = EMA(backbone, neck)
    target.train()
    online_mean, own_mean = neck.bn0.running_mean.clone(), target.neck.bn0.running_mean.clone()
    keys = target.keys(Inputs(dict(view1=torch.randn(5, 3, 8, 8))), {}, backbone, neck)['view1']
    assert not keys.requires_grad
    assert not torch.equal(target.neck.bn0.running_mean, own_mean)
    assert torch.equal(neck.bn0.running_mean, online_mean)
    seen = target.neck.bn0.running_mean.clone()
    target.update(backbone, neck, 0.1, 1)
    assert torch.equal(target.neck.bn0.running_mean, seen)


def test_target_has_no_drop_path_and_the_online_encoder_keeps_its_own():
    backbone, neck = vit(drop_path_rate=0.9), head()
    target = EMA(backbone, neck).train()
    images = dict(view1=torch.randn(16, 3, 8, 8))
    assert torch.equal(*(target.keys(Inputs(images), {}, backbone, neck)['view1'] for _ in range(2)))
    backbone.train()
    assert not torch.equal(backbone(images['view1'])[-1], backbone(images['view1'])[-1])
