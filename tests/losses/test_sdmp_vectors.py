"""Worked examples of SDMP: TV-SD-1 to TV-SD-3."""

import pytest
import torch

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
    objective.begin_step(0.5)
    objective.centre.copy_(torch.tensor([[0.3, -0.2, 0.1]]))
    teacher = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    student = torch.tensor([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
    prepared_keys = objective.prepare_key(0.07 * teacher.log() + objective.centre)
    prepared_queries = objective.prepare_query(0.1 * student.log())
    mixtures = flipped(0.7, 0.6)
    target = mixtures.target(mixtures if keys == 'mixtures' else Composition.identity(2))
    assert objective(prepared_queries, prepared_keys, target)[0].item() == pytest.approx(expected, abs=1e-6)
