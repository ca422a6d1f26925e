"""Every mixer works with every host, on vision transformers and on ResNets, and with half of the patches."""

import hosts
import pytest
import torch
from hosts import HOSTS, MIXERS

from mixcl.algorithms import ContrastiveLearner, StepKey

BATCH = 6
SMALLEST_GRADIENT = 1e-12
"""Bound in float64: gradients of parameters that the loss depends on are far above, rounding errors below."""


ON_BACKBONES = [(host, kind) for host in HOSTS for kind in hosts.BACKBONES if (host, kind) != ('ibot', 'resnet')]
"""Pairs of host and backbone; iBOT compares tokens, which a ResNet lacks."""


@pytest.mark.parametrize('mixer', MIXERS)
@pytest.mark.parametrize(('host', 'backbone'), ON_BACKBONES)
def test_an_optimiser_step_moves_every_parameter(host: str, mixer: str, backbone: str) -> None:
    torch.manual_seed(0)
    model = hosts.build(HOSTS[host](MIXERS[mixer], backbone))
    step_moves_every_parameter(model, hosts.without_gradient(host, backbone))


@pytest.mark.parametrize('host', sorted(set(HOSTS) - {'ibot'}))
def test_half_of_the_patches_pass_the_online_encoder(host: str) -> None:
    for mixer in (None, *MIXERS.values()):
        torch.manual_seed(0)
        model = hosts.build(hosts.dropping(HOSTS[host](mixer)))
        lengths = {True: set(), False: set()}  # of sequences with the class token, by whether gradients flow
        model.backbone.layers[0].register_forward_pre_hook(
            lambda _, x, to=lengths: to[x[0].requires_grad].add(x[0].shape[1])
        )
        step_moves_every_parameter(model, hosts.without_gradient(host, 'vit'))
        with_gradient = {9, 3} if host in ('dino', 'swav') else {9}  # half of 16 patches, and of 4 in local crops
        if host == 'barlow_twins' or (host == 'simclr' and mixer):
            with_gradient = {9, 17}  # views that are only keys are whole
        assert lengths == {True: with_gradient, False: {17} if host in ('simsiam', 'swav') and mixer else set()}


def step_moves_every_parameter(model: ContrastiveLearner, without_gradient: set[str]) -> None:
    model = model.double()
    crops = hosts.crops(model, BATCH)
    model.check_batch([crop[0] for crop in crops], BATCH)
    model.begin_step(StepKey(seed=0, step=0, rank=0))
    losses = {name: value for name, value in model(crops, mode='loss').items() if 'loss' in name}
    assert set(losses) == {term.name for term in model.table.terms}
    assert all(torch.isfinite(value) for value in losses.values())
    sum(losses.values()).backward()

    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in trained.values())
    moved = {name for name, parameter in trained.items() if parameter.grad.abs().max() > SMALLEST_GRADIENT}
    assert set(trained) - moved == without_gradient

    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.optim.SGD(trained.values(), lr=0.1).step()
    model.end_step(progress=0.1, epochs=1)
    after = model.state_dict()
    assert all(value.isfinite().all() for value in after.values())
    assert {name for name in moved if torch.equal(before[name], after[name])} == set()
