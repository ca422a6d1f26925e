"""Low-shot SVMs: what is drawn, and numbers compared with the protocol spelt out."""

import numpy as np
import pytest
from evaluation.clusters import several_labels

from mixcl.errors import UserError
from mixcl.evaluation.metrics.svm_metrics import VOCLowShot, average_precision, draw, new_classifier, normalise

BANK, BANK_PRESENT = several_labels(150, noise=2.0)
QUERIES, PRESENT = several_labels(60, noise=2.0, seed=1)
COSTS = (1.0, 0.5**10)


def test_what_is_drawn() -> None:
    label = BANK_PRESENT[:, 0].numpy()
    for shot in (1, 3):
        chosen = draw(label, shot, 0, shot)
        assert len(set(chosen.tolist())) == 20 * shot
        assert (label[chosen[:shot]] == 1).all() and (label[chosen[shot:]] == -1).all()
        assert np.array_equal(chosen, draw(label, shot, 0, shot))
        assert not np.array_equal(chosen, draw(label, shot, 1, shot))


def test_the_protocol_spelt_out() -> None:
    found = VOCLowShot(COSTS, seed=5, shots=(1, 3), samples=4).compute(BANK, BANK_PRESENT, QUERIES, PRESENT)
    train, test = normalise(BANK), normalise(QUERIES)
    for shot in (1, 3):
        precisions = np.zeros((len(COSTS), 4, 3))
        for place, sample, number in np.ndindex(precisions.shape):
            label, test_label = BANK_PRESENT[:, number].numpy(), PRESENT[:, number].numpy()
            chosen = draw(label, shot, 5, 'low-shot', shot, sample, number)
            svm = new_classifier(COSTS[place], 5).fit(train[chosen], label[chosen])
            scores = svm.decision_function(test[test_label != 0])
            precisions[place, sample, number] = average_precision(scores, test_label[test_label != 0] == 1)
        best = 100 * max(precisions.mean(axis=2), key=np.mean)
        assert found[f'lowshot{shot}_map'] == pytest.approx(best.mean())
        assert found[f'lowshot{shot}_map_std'] == pytest.approx(best.std())
    assert len(found) == 4 and found['lowshot3_map'] > found['lowshot1_map']


def test_too_few_images_of_a_class_are_refused() -> None:
    with pytest.raises(UserError, match=r'class number \d has \d+ negative training image\(s\), but needs 380'):
        VOCLowShot(shots=(1, 20)).compute(BANK, BANK_PRESENT, QUERIES, PRESENT)
