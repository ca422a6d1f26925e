"""The SVM metrics hand everything on to the functions, whatever the batches."""

import pytest
from evaluation.clusters import several_labels

from mixcl.errors import UserError
from mixcl.evaluation.functional.low_shot import low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import svm_average_precisions
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.evaluation.metrics.svm_metric import VOCSVM, VOCLowShot

BANK, BANK_PRESENT = several_labels(90, noise=2.0)
QUERIES, PRESENT = several_labels(60, noise=2.0, seed=1)
COSTS = (1.0, 0.5**10)


def evaluated(metric: FeatureMetric, batch_size: int) -> dict[str, float]:
    metric.fit(BANK, BANK_PRESENT)
    for features, labels in zip(QUERIES.split(batch_size), PRESENT.split(batch_size), strict=True):
        metric.process(None, [dict(features=features, labels=labels)])
    return metric.evaluate(len(QUERIES))


@pytest.mark.parametrize('batch_size', [60, 7])
def test_svm(batch_size: int) -> None:
    area, eleven_point = svm_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, COSTS, 3, 4)
    found = evaluated(VOCSVM(costs=COSTS, seed=4), batch_size)
    assert found == {'svm_map': 100 * area.mean(), 'svm_map_11_point': 100 * eleven_point.mean()}
    assert 50 < found['svm_map'] < 100


@pytest.mark.parametrize('batch_size', [60, 7])
def test_low_shot(batch_size: int) -> None:
    expected = low_shot_mean_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, (1, 2), 3, COSTS, 4)
    found = evaluated(VOCLowShot(shots=(1, 2), samples=3, costs=COSTS, seed=4), batch_size)
    assert list(found) == ['lowshot1_map', 'lowshot2_map', 'lowshot1_map_std', 'lowshot2_map_std']
    assert found['lowshot2_map'] == 100 * expected[2].mean()
    assert found['lowshot1_map_std'] == 100 * expected[1].std()


def test_settings_are_checked_at_once() -> None:
    with pytest.raises(UserError, match='costs must be'):
        VOCSVM(costs=())
    with pytest.raises(UserError, match='folds of 2 or more, not 1'):
        VOCSVM(folds=1)
    with pytest.raises(UserError, match='shots must be'):
        VOCLowShot(shots=(1.5,))


@pytest.mark.parametrize('metric', [VOCSVM, VOCLowShot])
def test_unlabelled_images(metric: type[FeatureMetric]) -> None:
    with pytest.raises(UserError, match=f"{metric.__name__} needs labels: set labels='multiple'"):
        metric().compute(BANK, None, QUERIES, None)
