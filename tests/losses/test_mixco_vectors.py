"""Worked examples of MixCo: TV-MC-1 to TV-MC-3."""

import pytest
import torch
from losses.vectors_as_images import learner, losses

from mixcl.composition import Composition
from mixcl.losses import InfoNCE, Negatives

HALVES = ([0, 1], [2, 3])
SHARES = (0.7, 0.2)
MIXTURES = Composition(
    torch.tensor([[0, 2], [1, 3]]), torch.tensor([[0.7, 0.3], [0.2, 0.8]], dtype=torch.float64), reach=1
)
UNITS = torch.eye(6, dtype=torch.float64)
ROWS = {0.05: (3.151382, 2.910428), 0.2: (0.894662, 0.783605), 1.0: (1.316604, 1.243860)}
"""Soft cross-entropies of the two mixtures, by temperature."""

MEANS = {0.05: (3.030905, 2.475271), 0.2: (0.839133, 0.283500), 1.0: (1.280232, 0.724599)}
"""Their mean, and the mean of the Kullback-Leibler divergences, by temperature."""


@pytest.mark.parametrize('temperature', ROWS)
def test_rows_on_moco(temperature: float) -> None:
    objective = InfoNCE(temperature=temperature)
    queries = torch.tensor([[0.919145, 0, 0.393919, 0, 0, 0], [0, 0.242536, 0, 0.970143, 0, 0]], dtype=torch.float64)
    target = MIXTURES.target(Composition.identity(4))
    shares = torch.tensor([[0.7, 0, 0.3, 0], [0, 0.2, 0, 0.8]], dtype=torch.float64)
    torch.testing.assert_close(target.dense(4), shares, rtol=0, atol=1e-6)
    rows = objective(objective.prepare_query(queries), UNITS[:4], target, [Negatives(UNITS[4:])])
    assert rows.tolist() == pytest.approx(ROWS[temperature], abs=2e-6)
    divergences = rows - torch.tensor([0.610864, 0.500402])  # less the entropies of the targets
    assert divergences.mean().item() == pytest.approx(MEANS[temperature][1], abs=2e-6)


@pytest.mark.parametrize('temperature', MEANS)
def test_means_on_moco_by_the_engine(temperature: float) -> None:
    """The clean row contrasts each positive with the queue, the mixed row also with the batch's other keys."""
    model = learner(
        SHARES,
        HALVES,
        objective=dict(type='InfoNCE', temperature=0.2, among='itself', gather=False, negatives=['queue']),
        memory=dict(queue=dict(size=2, channels=6, fed_by='view2')),
        joint=[('view1', 'mix1')],
        terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 1.0, dict(temperature=temperature, among='batch'))],
    )
    model.memory['queue'].vectors.copy_(UNITS[4:])
    # More keys than the queue holds: the step's losses are what is tested, not what it remembers.
    model.memory['queue'].push = lambda keys: None
    found = losses(model, UNITS[:4], UNITS[:4])
    assert found['mix1', 'view2'] == pytest.approx(MEANS[temperature][0], abs=1e-6)
    clean = torch.tensor([5.0, 0, 0]).log_softmax(0)[0]
    assert found['view1', 'view2'] == pytest.approx(-clean.item(), abs=1e-6)


def test_simclr() -> None:
    """NT-Xent .594438, mixtures .768467 per view at weight 1/2, 1.362905 in all."""
    model = learner(
        SHARES,
        HALVES,
        objective=dict(type='InfoNCE', temperature=0.5, gather=False, negatives=['own']),
        terms=[
            ('view1', 'view2', 0.5),
            ('view2', 'view1', 0.5),
            ('mix1', 'view2', 0.5, dict(negatives=[])),
            ('mix2', 'view1', 0.5, dict(negatives=[])),
        ],
    )
    found = losses(model, UNITS[:4, :4], UNITS[:4, :4])
    assert found['view1', 'view2'] + found['view2', 'view1'] == pytest.approx(0.594438, abs=1e-6)
    assert 2 * found['mix1', 'view2'] == pytest.approx(0.768467, abs=1e-6)
    assert 2 * found['mix2', 'view1'] == pytest.approx(0.768467, abs=1e-6)
    assert sum(found.values()) == pytest.approx(1.362905, abs=1e-6)
