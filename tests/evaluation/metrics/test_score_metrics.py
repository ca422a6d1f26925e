"""Metrics of scores agree with counting: ImageNet-A, -R and -C, and several depths."""

import numpy as np
import pytest
import torch
from mmengine.evaluator import Evaluator

from mixcl.datasets.imagenet_robustness import ALEXNET_ERRORS, CORRUPTIONS, SEVERITIES
from mixcl.evaluation.metrics.robustness_metrics import CorruptionRobustness, MaskedAccuracy
from mixcl.evaluation.metrics.stage_accuracy import StageAccuracy


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


def test_accuracy_by_depth() -> None:
    """Two stages, three images."""
    evaluator = Evaluator(StageAccuracy(topk=(1, 2)))
    first, second, third = [0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]
    stages = (first, third), (first, second), (first, third)
    samples = [
        dict(gt_label=torch.tensor([label]), stage_scores=torch.tensor(scores)) for label, scores in enumerate(stages)
    ]
    for part in (samples[:2], samples[2:]):
        evaluator.process(part)
    metrics = evaluator.evaluate(3)
    expected = dict(feat1_top1=1, feat1_top2=2, feat2_top1=2, feat2_top2=2, best_top1=2)
    assert metrics == {f'accuracy/{name}': pytest.approx(100 * hits / 3) for name, hits in expected.items()}
