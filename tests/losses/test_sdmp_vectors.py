"""Worked examples of SDMP: TV-SD-1 to TV-SD-3."""

import pytest
import torch
from losses.vectors_as_images import learner, losses

from mixcl.composition import Composition
from mixcl.losses import DINODistillation, InfoNCE, LogMixture
from mixcl.registry import MIXERS


def flipped(*shares: float) -> Composition:
    """Mixtures of image i and image n - 1 - i with these lambdas."""
    mixer = MIXERS.build(dict(type='Mixup', pairing='flip'))
    plan = mixer.plan(len(shares))
    plan.share[:] = torch.tensor(shares)
    return mixer.place(torch.zeros(len(shares), 3, 2, 2), plan)[1]


@pytest.mark.parametrize(
    ('shares', 'common', 'own'),
    [
        ((0.7, 0.6, 0.4, 0.2), (0.9, 1.0, 1.0, 0.9), (0.526316, 0.5, 0.5, 0.526316)),
        ((0.7, 0.7), (0.6, 0.6), (0.625, 0.625)),
        ((0.3, 0.7), (1.0, 1.0), (0.5, 0.5)),
        ((0.9, 0.2), (0.9, 0.9), (0.526316, 0.526316)),
        ((1.0, 0.0), (1.0, 1.0), (0.5, 0.5)),
    ],
)
def test_mixtures_share_min_of_the_lambdas(shares: tuple, common: tuple, own: tuple) -> None:
    mixtures = flipped(*shares)
    overlap, target = mixtures.overlap(mixtures), mixtures.target(mixtures).dense(len(shares))
    torch.testing.assert_close(overlap.flip(1).diag(), torch.tensor(common))
    torch.testing.assert_close(target.diag(), torch.tensor(own), rtol=0, atol=1e-6)
    torch.testing.assert_close(target.diag() + target.flip(1).diag(), torch.ones(len(shares)))


def test_the_middle_of_an_odd_batch_pairs_with_itself() -> None:
    mixtures = flipped(0.8, 0.3, 0.6)
    target = mixtures.target(mixtures).dense(3)
    expected = torch.tensor([[0.625, 0, 0.375], [0, 1, 0], [0.375, 0, 0.625]])  # 1 / 1.6 and .6 / 1.6
    torch.testing.assert_close(target, expected)
    torch.testing.assert_close(mixtures.target(Composition.identity(3)).dense(3)[1], torch.tensor([0.0, 1, 0]))


@pytest.mark.parametrize(('objective', 'expected'), [(InfoNCE, 1.058005), (LogMixture, 0.342926)])
def test_source_row(objective: type[InfoNCE], expected: float) -> None:
    """The row (mixture, view) alone, on MoCo v3's scale of twice the temperature; queries and keys are unit vectors."""
    target = flipped(0.7, 0.6, 0.4, 0.2).target(Composition.identity(4))
    rows = objective(temperature=0.2, temperature_scale=2)(torch.eye(4), torch.eye(4), target)
    assert rows.mean().item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(('keys', 'expected'), [('views', 0.904877), ('mixtures', 0.959106)])
def test_dino(keys: str, expected: float) -> None:
    """lambda .7 for the first image and .6 for the second, so that their mixtures share .7."""
    objective = DINODistillation(num_prototypes=3)
    objective.centre.copy_(torch.tensor([[0.3, -0.2, 0.1]]))
    teacher = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    student = torch.tensor([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
    prepared_keys = objective.prepare_key(0.07 * teacher.log() + objective.centre)
    prepared_queries = objective.prepare_query(0.1 * student.log())
    mixtures = flipped(0.7, 0.6)
    target = mixtures.target(mixtures if keys == 'mixtures' else Composition.identity(2))
    assert objective(prepared_queries, prepared_keys, target)[0].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ('rule', 'keys', 'expected'),
    [
        ('overlap', 'view2', [[0.7, 0.3], [0.4, 0.6]]),
        ('even', 'view2', [[0.5, 0.5], [0.5, 0.5]]),
        ('owner', 'view2', [[1, 0], [0, 1]]),
        ('even', 'mix2', [[0.5, 0.5], [0.5, 0.5]]),
        ('owner', 'mix2', [[1, 0], [0, 1]]),
    ],
)
def test_fixed_lambda_by_the_rule_of_a_row(rule: str, keys: str, expected: list) -> None:
    """SDMP's ablation of lambda, through the engine: the loss of unit vectors is linear in the target."""
    model = learner((0.7, 0.6), objective=dict(type='NegativeCosine'), terms=[('mix1', keys, 1.0, dict(target=rule))])
    views = torch.tensor([[1.0, 0], [0, 1.0]], dtype=torch.float64)
    mixed = torch.tensor([[0.7, 0.3], [0.4, 0.6]], dtype=torch.float64)
    queries, vectors = (
        torch.nn.functional.normalize(part, dim=1) for part in (mixed, mixed if 'mix' in keys else views)
    )
    by_hand = -(torch.tensor(expected) * (queries @ vectors.T)).sum(dim=1).mean()
    assert losses(model, views, views)['mix1', keys] == pytest.approx(by_hand.item(), abs=1e-7)
