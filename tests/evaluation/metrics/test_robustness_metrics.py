"""Metrics of ImageNet-A, -R and -C against counting."""

import numpy as np
import pytest
import torch

from mixcl.evaluation.functional.robustness import ALEXNET_ERRORS, CORRUPTIONS, SEVERITIES
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
    metric.dataset_meta = dict(class_numbers=tuple(classes.tolist()))
    metric.process(None, [sample(score, label) for score, label in zip(scores, labels.tolist(), strict=True)])
    found = metric.evaluate(40)
    masked = torch.full_like(scores, -1).index_copy_(1, classes, scores[:, classes])
    for best in (1, 5):
        expected = (masked.topk(best).indices == labels[:, None]).any(1).double().mean().item()
        assert found[f'top{best}'] == pytest.approx(100 * expected)
    assert 30 < found['top1'] < found['top5'] < 100


def test_corruption_robustness() -> None:
    right = np.random.default_rng(0).random((len(CORRUPTIONS), len(SEVERITIES), 10)) < 0.6
    metric = CorruptionRobustness()
    for (corruption, severity, _), hit in np.ndenumerate(right):
        place = dict(corruption=CORRUPTIONS[corruption], severity=SEVERITIES[severity])
        metric.process(None, [sample(torch.tensor([0.0, 1.0, 0.0]), 1 if hit else 2, **place)])
    found = metric.evaluate(750)
    assert found['top1'] == pytest.approx(100 * right.mean())
    accuracies = {name: answers.mean() for name, answers in zip(CORRUPTIONS, right, strict=True)}
    relative = [(1 - accuracy) / ALEXNET_ERRORS[name] for name, accuracy in accuracies.items()]
    assert found['mce'] == pytest.approx(100 * np.mean(relative))
    assert all(found[f'top1_{name}'] == pytest.approx(100 * accuracy) for name, accuracy in accuracies.items())
