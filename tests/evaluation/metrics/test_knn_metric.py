import pytest
import torch
from mmengine.evaluator import Evaluator

from mixcl.errors import UserError
from mixcl.evaluation.functional.knn import knn_accuracy
from mixcl.evaluation.metrics.knn_metric import KNNAccuracy


def data(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 5, generator=random), torch.randint(4, (rows,), generator=random)


def test_agrees_with_the_function_in_uneven_batches() -> None:
    (queries, labels), bank = data(23, 0), data(70, 1)
    metric = KNNAccuracy(neighbours=(5, 20), temperature=0.1)
    evaluator = Evaluator(metric)
    metric.fit(*bank)
    for start in range(0, 23, 10):
        batch = slice(start, start + 10)
        evaluator.process([dict(features=queries[batch], labels=labels[batch])])
    assert evaluator.evaluate(23) == pytest.approx(knn_accuracy(queries, labels, *bank, (5, 20), 0.1))


def test_padding_of_the_sampler_is_dropped() -> None:
    (queries, labels), bank = data(6, 0), data(40, 1)
    metric = KNNAccuracy(neighbours=(3,))
    metric.fit(*bank)
    metric.process(None, [dict(features=queries.repeat(2, 1), labels=labels.repeat(2))])
    assert metric.evaluate(7) == pytest.approx(
        knn_accuracy(torch.cat([queries, queries[:1]]), torch.cat([labels, labels[:1]]), *bank, (3,))
    )


def test_two_metrics_are_told_apart_by_their_prefix() -> None:
    metrics = [KNNAccuracy((1,)), KNNAccuracy((1,), temperature=0.1, prefix='warm')]
    evaluator = Evaluator(metrics)
    for metric in metrics:
        metric.fit(*data(9, 0))
    queries, labels = data(9, 0)
    evaluator.process([dict(features=queries, labels=labels)])
    assert evaluator.evaluate(9) == {
        'knn1_top1': 100.0, 'knn1_top5': 100.0, 'warm/knn1_top1': 100.0, 'warm/knn1_top5': 100.0
    }  # fmt: skip


def test_without_a_bank_it_says_which_loop_to_use() -> None:
    queries, labels = data(2, 0)
    metric = KNNAccuracy()
    sample = dict(features=queries, labels=labels)
    with pytest.raises(UserError, match=r"val_cfg .*dict\(type='FeatureLoop'"):
        metric.process(None, [sample])
    metric.fit(*data(9, 0))
    metric.process(None, [sample])
    metric.evaluate(2)
    with pytest.raises(UserError, match='no bank'):
        metric.process(None, [sample])


def test_settings_are_checked_when_it_is_built() -> None:
    with pytest.raises(UserError, match='temperature must be above 0'):
        KNNAccuracy(temperature=-1)
