"""Muon: one optimiser that does what torch's two do, goes on from a checkpoint, and refuses what it is not for."""

import hosts
import pytest
import tiny
import torch
from engine.optimizers.test_wrappers import build_wrapper
from mmengine.registry import DefaultScope
from torch import Tensor, nn

from mixcl.engine import FewGroupsConstructor
from mixcl.engine.optimizers import Muon
from mixcl.errors import UserError
from mixcl.registry import MODELS


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 2, 2), nn.Flatten(), nn.Linear(18, 8), nn.LayerNorm(8), nn.Linear(8, 4))


def groups(model: nn.Module) -> list[dict]:
    decaying = [p for p in model.parameters() if p.ndim > 1]
    return [dict(params=decaying), dict(params=[p for p in model.parameters() if p.ndim == 1], weight_decay=0.0)]


def stepped(model: nn.Module, steps: range, *optimizers: torch.optim.Optimizer) -> list[Tensor]:
    for step in steps:
        images = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(step))
        model.zero_grad()
        model(images).square().mean().backward()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group['lr'] = 0.01 / (1 + step)  # as a schedule sets it
            optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def test_steps_are_those_of_torchs_muon_and_adamw() -> None:
    ours, theirs = network(), network()
    found = stepped(ours, range(5), Muon(groups(ours), lr=0.01, weight_decay=0.2))
    matrices, others = ([p for p in theirs.parameters() if (p.ndim == 2) == matrix] for matrix in (True, False))
    kernel, *vectors = others
    both = (
        torch.optim.Muon(matrices, lr=0.01, weight_decay=0.2, adjust_lr_fn='match_rms_adamw'),
        torch.optim.AdamW([dict(params=[kernel], weight_decay=0.2), dict(params=vectors, weight_decay=0.0)], lr=0.01),
    )
    expected = stepped(theirs, range(5), *both)
    for mine, other in zip(found, expected, strict=True):  # theirs are in bfloat16
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-3 if mine.ndim == 2 else 2e-4)


def test_a_matrix_is_orthogonalised_in_float32() -> None:
    weight, gradient = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(0)).double()
    x = gradient * (0.05 * 0.95 + 0.05)  # Nesterov's momentum of a first step
    x = x.T / x.norm()
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    parameter = nn.Parameter(weight.float())
    parameter.grad = gradient.float()
    Muon([parameter], lr=0.1, weight_decay=0.2).step()
    expected = weight * (1 - 0.1 * 0.2) - 0.1 * 0.2 * 7**0.5 * x.T
    torch.testing.assert_close(parameter.detach(), expected.float(), rtol=1e-4, atol=1e-5)


def test_a_stored_optimiser_goes_on() -> None:
    whole, halves = network(), network()
    expected = stepped(whole, range(6), Muon(groups(whole), weight_decay=0.2))
    first = Muon(groups(halves), weight_decay=0.2)
    stepped(halves, range(3), first)
    again = Muon(groups(halves), lr=1.0, weight_decay=0.5)
    again.load_state_dict(first.state_dict())
    assert len(again.state_dict()['state']) == len(list(halves.parameters()))
    torch.testing.assert_close(stepped(halves, range(3, 6), again), expected, rtol=0, atol=0)


def test_groups_of_a_learner_are_split_and_share_settings() -> None:
    model = tiny.build()
    cfg = dict(type='OptimWrapper', optimizer=dict(type='Muon', lr=1e-3, weight_decay=0.1))
    with DefaultScope.overwrite_default_scope('mixcl'):
        optimizer = FewGroupsConstructor(cfg, dict(flat_decay_mult=0.0))(model).optimizer
    assert isinstance(optimizer, Muon)
    trained = sorted(p.numel() for group in optimizer.param_groups for p in group['params'])
    wanted = sorted(p.numel() for group in build_wrapper(model).optimizer.param_groups for p in group['params'])
    assert trained == wanted and {group['lr'] for group in optimizer.param_groups} == {1e-3}


def test_what_it_is_not_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hosts.build(hosts.moco_v3(backbone='resnet'))
    cfg = dict(type='OptimWrapper', optimizer=dict(type='Muon', lr=1e-3))
    with (
        DefaultScope.overwrite_default_scope('mixcl'),
        pytest.raises(UserError, match='ResNet_CIFAR has mostly kernels of convolutions'),
    ):
        FewGroupsConstructor(cfg)(model)
    Muon.check_model(MODELS.build(hosts.BACKBONES['vit']))
    with pytest.raises(UserError, match='no parameter has two dimensions'):
        Muon([nn.Parameter(torch.zeros(3))])
    monkeypatch.delattr(torch.optim, 'Muon')
    with pytest.raises(UserError, match=r'needs torch 2\.9 or newer, not '):
        Muon(network().parameters())
