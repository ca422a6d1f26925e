"""Accuracy by depth against counting by hand."""

import pytest
import torch
from mmengine.evaluator import Evaluator
from mmpretrain.structures import DataSample

from mixcl.evaluation.metrics.stage_accuracy import StageAccuracy


def sample(label: int, *stages: list[float]) -> DataSample:
    data = DataSample().set_gt_label(label)
    data.set_field(torch.tensor(stages), 'stage_scores')
    return data


def test_two_stages_of_three_images() -> None:
    evaluator = Evaluator(StageAccuracy(topk=(1, 2)))
    evaluator.process([sample(0, [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]), sample(1, [0.5, 0.3, 0.2], [0.2, 0.7, 0.1])])
    evaluator.process([sample(2, [0.5, 0.3, 0.2], [0.1, 0.2, 0.7])])
    metrics = evaluator.evaluate(3)
    expected = dict(feat1_top1=1, feat1_top2=2, feat2_top1=2, feat2_top2=2, best_top1=2)
    assert metrics == {f'accuracy/{name}': pytest.approx(100 * hits / 3) for name, hits in expected.items()}
