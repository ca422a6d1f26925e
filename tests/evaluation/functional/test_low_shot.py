"""Low-shot SVMs: what is drawn, and the numbers against the protocol spelt out."""

import numpy as np
import pytest
from evaluation.clusters import several_labels

from mixcl.errors import UserError
from mixcl.evaluation.functional.average_precision import average_precision
from mixcl.evaluation.functional.low_shot import draw, low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import new_classifier, normalise

BANK, BANK_PRESENT = several_labels(150, noise=2.0)
QUERIES, PRESENT = several_labels(60, noise=2.0, seed=1)
COSTS = (1.0, 0.5**10)
TESTED = low_shot_mean_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, (1, 3), samples=4, costs=COSTS, seed=5)


@pytest.mark.parametrize('shot', [1, 2, 3])
def test_what_is_drawn(shot: int) -> None:
    label = BANK_PRESENT[:, 0].numpy()
    chosen = draw(label, shot, 0, shot)
    assert len(set(chosen.tolist())) == 20 * shot
    assert (label[chosen[:shot]] == 1).all() and (label[chosen[shot:]] == -1).all()
    assert np.array_equal(chosen, draw(label, shot, 0, shot))
    assert not np.array_equal(chosen, draw(label, shot, 1, shot))


def test_the_protocol_spelt_out() -> None:
    train, test = normalise(BANK), normalise(QUERIES)
    for shot, found in TESTED.items():
        means = np.zeros((len(COSTS), 4))
        for place, cost in enumerate(COSTS):
            for sample in range(4):
                precisions = []
                for number in range(3):
                    label, test_label = BANK_PRESENT[:, number].numpy(), PRESENT[:, number].numpy()
                    chosen = draw(label, shot, 5, 'low-shot', shot, sample, number)
                    svm = new_classifier(cost, 5).fit(train[chosen], label[chosen])
                    scores = svm.decision_function(test[test_label != 0])
                    precisions.append(average_precision(scores, test_label[test_label != 0] == 1))
                means[place, sample] = np.mean(precisions)
        best = max(range(len(COSTS)), key=lambda place: means[place].mean())
        assert found == pytest.approx(means[best])
    assert TESTED[3].mean() > TESTED[1].mean()


@pytest.mark.parametrize(
    ('shot', 'kind'), [(96, 'positive training'), (20, r'negative training image\(s\), but needs 380')]
)
def test_too_few_images_of_a_class_are_refused(shot: int, kind: str) -> None:
    with pytest.raises(UserError, match=rf'class number \d has \d+ {kind}'):
        low_shot_mean_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, (1, shot))
