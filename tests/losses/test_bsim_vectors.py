"""Worked examples of BSIM: TV-BS-1 to TV-BS-3, with the value each reading of the paper gives."""

import pytest
import torch
from losses.vectors_as_images import learner, losses

NEXT = ([0, 1, 2, 3], [1, 2, 3, 0])
"""Four mixtures, each of an image and the next one."""

QUEUE = dict(queue=dict(size=2, channels=4, fed_by='view2'))


def test_byol() -> None:
    """The mixture embeds as its first image alone: cosine 1 with it and 0 with the second, lambda .7."""
    model = learner((0.7, 0.7), objective=dict(type='NegativeCosine', scale=2.0), terms=[('mix1', 'view2', 1.0)])
    model.recipe.mixer.place = first_image_for_both(model.recipe.mixer.place)
    # The second mixture is .7 of image 1 and .3 of image 0, and embeds as image 0 too: -2 * .3.
    assert losses(model, torch.eye(2), torch.eye(2))['mix1', 'view2'] == pytest.approx((-1.4 - 0.6) / 2)


def first_image_for_both(place):
    def placed(images, plan, generator=None):
        return images[:1].expand(2, -1, -1, -1), place(images, plan, generator)[1]

    return placed


@pytest.mark.parametrize(('among', 'expected'), [('itself', 0.338954), ('positives', 1.520012)])
def test_moco(among: str, expected: float) -> None:
    """Logit 1 with the owner, 0 with the partner and with the two keys of the queue, temperature .2, lambda .7."""
    objective = dict(type='InfoNCE', temperature=0.2, among=among, gather=False, negatives=['queue'])
    model = learner((0.7,), ([0], [1]), objective=objective, memory=QUEUE, terms=[('mix1', 'view2', 1.0)])
    place = model.recipe.mixer.place
    model.recipe.mixer.place = lambda images, plan, generator=None: (images[:1], place(images, plan, generator)[1])
    units = torch.eye(4, dtype=torch.float64)
    model.memory['queue'].vectors.copy_(units[2:])
    assert losses(model, units[:2], units[:2])['mix1', 'view2'] == pytest.approx(expected, abs=1e-6)


READINGS = dict(A=['own'], B=[], C=['view1'])
"""Of the denominator, beside the clean keys of the other view: the other mixtures, nothing, the clean same view."""


@pytest.mark.parametrize(
    ('reading', 'temperature', 'expected'),
    [
        ('A', 0.1, 1.584983),
        ('B', 0.1, 1.581102),
        ('C', 0.1, 1.581305),
        ('A', 0.5, 1.083038),
        ('B', 0.5, 0.826736),
        ('C', 0.5, 1.001327),
    ],
)
def test_simclr_by_the_reading_of_the_denominator(reading: str, temperature: float, expected: float) -> None:
    model = learner(
        (0.7,) * 4,
        NEXT,
        objective=dict(type='InfoNCE', temperature=temperature),
        terms=[('mix1', 'view2', 1.0, dict(negatives=READINGS[reading]))],
    )
    units = torch.eye(4, dtype=torch.float64)
    assert losses(model, units, units)['mix1', 'view2'] == pytest.approx(expected, abs=1e-6)
