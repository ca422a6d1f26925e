"""Metrics of ImageNet-A, -R and -C against counting."""

import numpy as np
import pytest
import torch

from mixcl.errors import UserError
from mixcl.evaluation.functional.robustness import CORRUPTIONS, SEVERITIES, mean_corruption_error
from mixcl.evaluation.metrics.robustness_metrics import CorruptionRobustness, MaskedAccuracy


def sample(score: torch.Tensor, label: int, **fields: object) -> dict:
    return dict(pred_score=score, gt_label=torch.tensor([label]), **fields)


def test_masked_accuracy() -> None:
    random = torch.Generator().manual_seed(0)
    scores = torch.rand(40, 1000, generator=random)
    classes = torch.randperm(1000, generator=random)[:200].sort().values
    labels = classes[torch.randint(200, (40,), generator=random)]
    scores[torch.arange(20), labels[:20]] += 0.95
    metric = MaskedAccuracy()
    metric.dataset_meta = dict(class_numbers=tuple(classes.tolist()), num_model_classes=1000)
    for start in (0, 13, 26, 39):
        batch = zip(scores[start : start + 13], labels[start : start + 13].tolist(), strict=True)
        metric.process(None, [sample(score, label) for score, label in batch])
    found = metric.evaluate(40)
    masked = torch.full_like(scores, -1).index_copy_(1, classes, scores[:, classes])
    for best in (1, 5):
        expected = (masked.topk(best).indices == labels[:, None]).any(1).double().mean().item()
        assert found[f'top{best}'] == pytest.approx(100 * expected)
    assert 30 < found['top1'] < found['top5'] < 100


def test_a_model_of_other_classes_is_refused() -> None:
    metric = MaskedAccuracy()
    metric.dataset_meta = dict(class_numbers=(1, 2), num_model_classes=1000)
    with pytest.raises(UserError, match='the model tells 100 classes apart, but this data set needs the 1000'):
        metric.process(None, [sample(torch.zeros(100), 1)])


def corruption_metric(rights: dict[tuple[str, int], list[bool]]) -> CorruptionRobustness:
    metric = CorruptionRobustness()
    metric.dataset_meta = dict(num_model_classes=3)
    for (corruption, severity), answers in rights.items():
        score = torch.tensor([0.0, 1.0, 0.0])
        batch = [sample(score, 1 if right else 2, corruption=corruption, severity=severity) for right in answers]
        metric.process(None, batch)
    return metric


def test_corruption_robustness() -> None:
    random = np.random.default_rng(0)
    rights = {(name, severity): (random.random(10) < 0.6).tolist() for name in CORRUPTIONS for severity in SEVERITIES}
    found = corruption_metric(rights).evaluate(750)
    errors = {name: [1 - np.mean(rights[name, severity]) for severity in SEVERITIES] for name in CORRUPTIONS}
    assert found['top1'] == pytest.approx(100 * np.mean(list(rights.values())))
    assert found['mce'] == pytest.approx(100 * mean_corruption_error(errors))
    for name in CORRUPTIONS:
        assert found[f'top1_{name}'] == pytest.approx(100 - 100 * np.mean(errors[name]))


def test_every_setting_is_needed() -> None:
    metric = corruption_metric({('snow', 1): [True]})
    with pytest.raises(UserError, match='no image of some of the 75 settings'):
        metric.evaluate(1)
