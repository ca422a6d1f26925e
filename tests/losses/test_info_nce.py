"""Worked examples of InfoNCE, torch's cross-entropy, and precision."""

import math

import pytest
import torch

from mixcl.composition import Composition
from mixcl.losses import InfoNCE
from mixcl.mixers.patchmix import patchmix_composition


def similar(table: torch.Tensor, temperature: float, target) -> torch.Tensor:
    """The mean loss for given cosine similarities: queries are rows of the table, keys the unit vectors."""
    return InfoNCE(temperature)(table, torch.eye(len(table), dtype=table.dtype), target).mean()


def test_patchmix_loss_vector():
    """TV-PM-9: B = N = 5, M = 2, temperature .2, similarities that equal the membership or the overlap."""
    mix, views = patchmix_composition(5, 2), Composition.identity(5)
    membership = (mix.target(views).dense(5) > 0).double()
    assert similar(membership, 0.2, mix.target(views)).item() == pytest.approx(math.log(2 + 3 * math.exp(-5)))
    assert similar(membership, 0.2, mix.target(views)).item() == pytest.approx(0.7032034, abs=1e-6)
    overlap = mix.overlap(mix).double()
    assert similar(overlap, 0.2, mix.target(mix)).item() == pytest.approx(1.4135174, abs=1e-6)


def test_smoothing_vector():
    """TV-PM-8: B = K = 6, M = 3, smoothing .1, read off the gradient with respect to the logits."""
    mix = patchmix_composition(6, 3)
    for target, on, off in [
        (mix.target(Composition.identity(6)), 0.316667, 0.016667),
        (Composition.identity(6).target(Composition.identity(6)), 0.916667, 0.016667),
    ]:
        queries = torch.zeros(6, 6, dtype=torch.float64, requires_grad=True)
        InfoNCE(1.0, smoothing=0.1)(queries, torch.eye(6, dtype=torch.float64), target).sum().backward()
        effective = 1 / 6 - queries.grad  # the gradient of a cross-entropy is softmax - target
        hit = target.dense(6) > 0
        torch.testing.assert_close(effective[hit], torch.full_like(effective[hit], on), atol=1e-6, rtol=0)
        torch.testing.assert_close(effective[~hit], torch.full_like(effective[~hit], off), atol=1e-6, rtol=0)


def test_moco_v3_scale_vector():
    """TV-AP-8: q = [[.8, .6], [.6, .8]], k = I, temperature .1: D = .126928; MoCo v3's 2 t (D + D) = .0507712."""
    views = Composition.identity(2)
    queries, keys = torch.tensor([[0.8, 0.6], [0.6, 0.8]]), torch.eye(2)
    plain, scaled = InfoNCE(0.1), InfoNCE(0.1, temperature_scale=2)
    assert plain(queries, keys, views.target(views)).mean().item() == pytest.approx(0.126928, abs=1e-6)
    total = 2 * scaled(queries, keys, views.target(views)).mean().item()
    assert total == pytest.approx(0.0507712, abs=1e-6)


def test_full_precision_under_autocast():
    queries, keys = torch.randn(6, 64), torch.randn(6, 64)
    objective, views = InfoNCE(0.05), Composition.identity(6)

    def loss():
        return objective(objective.prepare_query(queries), objective.prepare_key(keys), views.target(views))

    expected = loss()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        assert torch.equal(loss(), expected)
        half = objective(
            objective.prepare_query(queries.bfloat16()), objective.prepare_key(keys.bfloat16()), views.target(views)
        )
    assert half.dtype == torch.float32
