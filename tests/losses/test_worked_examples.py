"""Worked examples of the papers' losses. Images are unit vectors, and mixtures are mixed unit vectors."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mixcl.composition import Composition
from mixcl.losses import DINODistillation, InfoNCE, LogMixture, NegativeCosine, Negatives
from mixcl.mixers.patchmix import patchmix_composition


def mixtures(partners: list[int], *shares: float) -> Composition:
    """Return mixtures: number i shows image i, with its share, and image ``partners[i]``."""
    own = torch.tensor(shares, dtype=torch.float64)
    sources = torch.stack([torch.arange(len(shares)), torch.tensor(partners)], dim=1)
    return Composition(sources, torch.stack([own, 1 - own], dim=1))


def flipped(*shares: float) -> Composition:
    return mixtures([*reversed(range(len(shares)))], *shares)


UNITS = torch.eye(6, dtype=torch.float64)


def embedded(composition: Composition) -> Tensor:
    return normalize((composition.weights[:, :, None] * UNITS[composition.sources]).sum(dim=1), dim=1)


TWO, FOUR, FIVE, SIX = (Composition.identity(n) for n in (2, 4, 5, 6))
PATCHMIX, SDMP, MIXCO = patchmix_composition(5, 2), flipped(0.7, 0.6, 0.4, 0.2), mixtures([2, 3], 0.7, 0.2)
BSIM, NEXT = mixtures([1], 0.7), mixtures([1, 2, 3, 0], 0.7, 0.7, 0.7, 0.7)
QUEUE = Negatives(UNITS[4:])
OTHERS = ~torch.eye(4, dtype=torch.bool)
NEITHER = OTHERS & OTHERS.roll(1, dims=1)
"""Mask of the images (columns) that are not in a mixture of NEXT (rows)."""

MEMBERSHIP, OVERLAP = (PATCHMIX.overlap(FIVE) > 0).double(), PATCHMIX.overlap(PATCHMIX).double()
PAIR = torch.tensor([[0.8, 0.6], [0.6, 0.8]])
TEACHER, STUDENT = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]), torch.tensor([[0.6, 0.3, 0.1]])

EXAMPLES = [
    # TV-PM-9: cosines that equal the membership or the overlap
    (InfoNCE(0.2), MEMBERSHIP, UNITS[:5, :5], PATCHMIX, FIVE, [], 0.7032034),
    (InfoNCE(0.2), OVERLAP, UNITS[:5, :5], PATCHMIX, PATCHMIX, [], 1.4135174),
    # TV-AP-8, and one of the two terms on MoCo v3's scale
    (InfoNCE(0.1), PAIR, torch.eye(2), TWO, TWO, [], 0.126928),
    (InfoNCE(0.1, temperature_scale=2), PAIR, torch.eye(2), TWO, TWO, [], 0.0507712 / 2),
    # TV-MC-2 and TV-MC-3: mixtures on MoCo, clean views and mixtures on SimCLR
    (InfoNCE(0.05), embedded(MIXCO), UNITS[:4], MIXCO, FOUR, [QUEUE], (3.151382, 2.910428)),
    (InfoNCE(0.2), embedded(MIXCO), UNITS[:4], MIXCO, FOUR, [QUEUE], (0.894662, 0.783605)),
    (InfoNCE(1.0), embedded(MIXCO), UNITS[:4], MIXCO, FOUR, [QUEUE], (1.316604, 1.243860)),
    (InfoNCE(0.5), UNITS[:4], UNITS[:4], FOUR, FOUR, [Negatives(UNITS[:4], OTHERS)], 0.594438),
    (InfoNCE(0.5), embedded(MIXCO), UNITS[:4], MIXCO, FOUR, [], 0.768467),
    # TV-SD-2 and TV-SD-3: the row (mixture, view) on MoCo v3; DINO's student against views and against mixtures
    (InfoNCE(0.2, temperature_scale=2), UNITS[:4], UNITS[:4], SDMP, FOUR, [], 1.058005),
    (LogMixture(0.2, temperature_scale=2), UNITS[:4], UNITS[:4], SDMP, FOUR, [], 0.342926),
    (DINODistillation(3), STUDENT.log(), TEACHER, BSIM, TWO, [], 0.904877),
    (DINODistillation(3), STUDENT.log(), TEACHER, BSIM, flipped(0.7, 0.6), [], 0.959106),
    # TV-BS-1 and TV-BS-2: the mixture embeds as its first image alone
    (NegativeCosine(2), UNITS[:1], UNITS[:2], BSIM, TWO, [], -1.4),
    (InfoNCE(0.2, among='itself'), UNITS[:1], UNITS[:2], BSIM, TWO, [QUEUE], 0.338954),
    (InfoNCE(0.2, among='positives'), UNITS[:1], UNITS[:2], BSIM, TWO, [QUEUE], 1.520012),
    # TV-BS-3: the denominator has the other mixtures (A), no more than the keys (B), or clean images of the view (C)
    (InfoNCE(0.1), embedded(NEXT), UNITS[:4], NEXT, FOUR, [Negatives(embedded(NEXT), NEITHER)], 1.584983),
    (InfoNCE(0.1), embedded(NEXT), UNITS[:4], NEXT, FOUR, [], 1.581102),
    (InfoNCE(0.1), embedded(NEXT), UNITS[:4], NEXT, FOUR, [Negatives(UNITS[:4], NEITHER)], 1.581305),
    (InfoNCE(0.5), embedded(NEXT), UNITS[:4], NEXT, FOUR, [Negatives(embedded(NEXT), NEITHER)], 1.083038),
    (InfoNCE(0.5), embedded(NEXT), UNITS[:4], NEXT, FOUR, [], 0.826736),
    (InfoNCE(0.5), embedded(NEXT), UNITS[:4], NEXT, FOUR, [Negatives(UNITS[:4], NEITHER)], 1.001327),
]
"""Tuples (objective, queries, keys, the compositions of both, negatives, mean loss or losses of the rows)."""


@pytest.mark.parametrize('example', EXAMPLES)
def test_losses(example: tuple) -> None:
    objective, queries, keys, of_queries, of_keys, negatives, expected = example
    rows = objective(queries, keys, of_queries.target(of_keys), negatives)
    found = rows.tolist() if isinstance(expected, tuple) else rows.mean().item()
    assert found == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(('of_queries', 'on'), [(patchmix_composition(6, 3), 0.316667), (SIX, 0.916667)])
def test_smoothing(of_queries: Composition, on: float) -> None:
    """TV-PM-8: smoothing .1, read off the gradient with respect to the logits, which is softmax - target."""
    queries, target = torch.zeros(6, 6, dtype=torch.float64, requires_grad=True), of_queries.target(SIX)
    InfoNCE(1.0, smoothing=0.1)(queries, UNITS, target).sum().backward()
    expected = torch.where(target.dense(6) > 0, on, 0.016667).double()
    torch.testing.assert_close(1 / 6 - queries.grad, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ('shares', 'common', 'own'),
    [
        ((0.7, 0.6, 0.4, 0.2), (0.9, 1.0, 1.0, 0.9), (0.526316, 0.5, 0.5, 0.526316)),
        ((0.7, 0.7), (0.6, 0.6), (0.625, 0.625)),
        ((0.3, 0.7), (1.0, 1.0), (0.5, 0.5)),
        ((0.9, 0.2), (0.9, 0.9), (0.526316, 0.526316)),
        ((1.0, 0.0), (1.0, 1.0), (0.5, 0.5)),
        ((0.8, 0.3, 0.6), (0.6, 1.0, 0.6), (0.625, 1.0, 0.625)),  # the middle of an odd batch pairs with itself
    ],
)
def test_mixtures_share_min_of_the_lambdas(shares: tuple, common: tuple, own: tuple) -> None:
    """TV-SD-1."""
    made = flipped(*shares)
    overlap, target = made.overlap(made), made.target(made).dense(len(shares))
    assert overlap.flip(1).diag().tolist() == pytest.approx(common)
    assert target.diag().tolist() == pytest.approx(own, abs=1e-6)
    assert target.flip(1).diag().tolist() == pytest.approx([1 - o if o < 1 else 1 for o in own], abs=1e-6)
