"""KoLeo against a loop, and as a setting of a stream."""

import math

import hosts
import pytest
import torch
from torch import Tensor

from mixcl.algorithms import StepKey
from mixcl.encoders.passes import backbone_features
from mixcl.encoders.stream import RowsOf
from mixcl.errors import UserError
from mixcl.losses.koleo import koleo


def by_hand(features: Tensor) -> Tensor:
    rows = [row / row.norm() for row in features.double()]
    nearest = [
        torch.stack([(row - other).norm() for j, other in enumerate(rows) if j != i]).min()
        for i, row in enumerate(rows)
    ]
    return -torch.stack(nearest).log().mean()


def test_values_and_gradients_are_those_of_a_loop() -> None:
    features = torch.randn(6, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    expected = by_hand(features)
    (slopes,) = torch.autograd.grad(expected, features)
    torch.testing.assert_close(koleo(features).double(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(torch.autograd.grad(koleo(features), features)[0], slopes, rtol=1e-4, atol=1e-5)
    with torch.autocast('cpu', torch.bfloat16):
        assert torch.equal(koleo(features), koleo(features.float()))
    opposite = torch.tensor([[1.0, -2.0, 3.0], [-2.0, 4.0, -6.0]])
    assert koleo(opposite).item() == pytest.approx(-math.log(2))
    same = torch.ones(3, 4, requires_grad=True)
    koleo(same).backward()
    assert same.grad.isfinite().all()


def test_a_view_is_spread_crop_by_crop_and_nothing_else_changes() -> None:
    config = hosts.dino(hosts.MIXERS['cutmix'])
    streams = {**config['streams'], 'local': dict(koleo=0.3), 'view1': dict(koleo=0.1)}
    plain, spread = hosts.build(config).double(), hosts.build(config, streams=streams).double()
    spread.load_state_dict(plain.state_dict())
    crops, losses = hosts.crops(plain, 4), []
    for model in (plain.eval(), spread.eval()):
        model.begin_step(StepKey(0, 0, 0))
        losses.append(model(crops, mode='loss'))
    added = {name: losses[1].pop(name) for name in ('loss_koleo_local', 'loss_koleo_view1')}
    torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=0)
    streams, _ = plain.build_streams(crops)
    features = backbone_features(plain.backbone, {each.rows: each for each in streams.values()})
    torch.testing.assert_close(added['loss_koleo_view1'], 0.1 * koleo(features[RowsOf('view1')]))
    local = features[RowsOf('local')].chunk(hosts.LOCAL_CROPS)
    torch.testing.assert_close(added['loss_koleo_local'], 0.3 * sum(map(koleo, local)))


REFUSED = {
    'mix1 has koleo=0.1; it is a weight of 0 or more of a view': dict(mix1=dict(mix='view1', koleo=0.1)),
    'view1 has koleo=-1; it is a weight': dict(view1=dict(koleo=-1)),
    'view2 has koleo, but no row of model.terms has its images as query': dict(view2=dict(koleo=0.1)),
}


@pytest.mark.parametrize('message', REFUSED)
def test_what_cannot_be_spread_is_refused(message: str) -> None:
    config = hosts.moco_v3(hosts.MIXERS['cutmix'])
    with pytest.raises(UserError) as refused:
        hosts.build(config, streams=config['streams'] | REFUSED[message])
    assert message in str(refused.value)


def test_one_image_has_no_other() -> None:
    model = hosts.build(hosts.moco_v3(), streams=dict(view1=dict(koleo=0.1)))
    with pytest.raises(UserError, match='koleo compares the images of a process'):
        model.check_batch([torch.zeros(3, 8, 8)] * 2, 1)
