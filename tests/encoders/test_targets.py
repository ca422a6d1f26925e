"""Target encoders: momentum, what is averaged, and what a target's own passes leave behind."""

import hosts
import pytest
import tiny
import torch
from torch import nn

from mixcl.composition import Composition
from mixcl.encoders import EMA, EpochwiseEMA
from mixcl.encoders.stream import RowsOf, Stream
from mixcl.encoders.targets import follow_if


def test_momentum_follows_the_cosine():
    """m0 = .996 over 300 epochs; the epoch-wise momentum is constant within an epoch of ten steps."""
    target, epochwise = (kind(nn.Linear(1, 1), nn.Linear(1, 1), momentum=0.996) for kind in (EMA, EpochwiseEMA))
    for epoch, expected in [(0, 0.996), (75, 0.9965858), (150, 0.998), (225, 0.9994142), (300, 1.0)]:
        assert target.momentum_at(epoch / 300, 300) == pytest.approx(expected, abs=1e-7)
    steps = [epochwise.momentum_at(step / 3000, 300) for step in range(751, 761)]
    assert len(set(steps)) == 1 and steps[0] == pytest.approx(0.9965858, abs=1e-7)
    assert epochwise.momentum_at(761 / 3000, 300) > steps[0]


def test_updates_are_those_of_a_loop_over_parameters():
    """Both agree bit by bit while the momentum rises."""
    model = tiny.build(target=dict(type='EMA', momentum=0.9))
    naive = [parameter.detach().clone() for parameter in model.target.parameters()]
    assert not any(parameter.requires_grad for parameter in model.target.parameters())
    for step in range(5):
        with torch.no_grad():
            online = [*model.backbone.parameters(), *model.neck.parameters()]
            for parameter in online:
                parameter.add_(torch.randn_like(parameter))
            momentum = model.end_step(step / 5, 1)['ema_momentum']
            assert momentum == model.target.momentum_at(step / 5, 1)
            for own, parameter in zip(naive, online, strict=True):
                own.lerp_(parameter, 1 - momentum)
    torch.testing.assert_close(list(model.target.parameters()), naive, rtol=0, atol=0)


@pytest.mark.parametrize('dtypes', [[torch.float32], [torch.float32, torch.bfloat16, torch.float64]])
def test_a_target_follows_only_if_the_device_says_so(dtypes: list[torch.dtype]) -> None:
    own = [torch.randn(size, dtype=dtype) for dtype in dtypes for size in ((5, 3), (7,), (), (0, 2))]
    online = [torch.randn_like(target) for target in own]
    before, unchanged = ([tensor.clone() for tensor in tensors] for tensors in (own, online))
    follow_if(torch.tensor(0.0), own, [torch.full_like(target, torch.nan) for target in own], 0.1)
    torch.testing.assert_close(own, before, rtol=0, atol=0)
    follow_if(torch.tensor(1.0), own, online, 0.1)
    expected = [target.lerp(source, 0.1) for target, source in zip(before, online, strict=True)]
    torch.testing.assert_close(own, expected)
    torch.testing.assert_close(online, unchanged, rtol=0, atol=0)


def test_batch_norm_buffers_follow_the_targets_own_passes():
    model = tiny.build()
    before = model.target.neck.bn0.running_mean.clone()
    stream = Stream('view1', torch.randn(5, 3, 8, 8), Composition.identity(5))
    keys = model.target.keys({stream.rows: stream}, {}, model.backbone, model.neck)[RowsOf('view1')]
    assert not keys.requires_grad
    seen = model.target.neck.bn0.running_mean.clone()
    assert not torch.equal(seen, before) and not model.neck.bn0.running_mean.any()
    model.end_step(0.1, 1)
    assert torch.equal(model.target.neck.bn0.running_mean, seen)


def test_target_has_no_drop_path_and_the_online_encoder_keeps_its_own():
    model = tiny.build(backbone=hosts.BACKBONES['vit'] | dict(drop_path_rate=0.5))
    images = torch.randn(16, 3, 8, 8)
    for encoder, repeats in ((model.target, True), (model, False)):
        assert torch.equal(*(encoder.backbone(images)[-1] for _ in range(2))) == repeats
