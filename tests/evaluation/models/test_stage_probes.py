"""Probes at several depths: what they compute, and that none affects another."""

import pytest
import torch
from mmpretrain.structures import DataSample
from torch.nn import functional

from mixcl.evaluation.models import StageProbes

LENGTHS, CHANNELS = (12, 8, 6), (3, 4, 6)


def probes() -> StageProbes:
    torch.manual_seed(0)
    head = StageProbes(num_classes=5, in_channels=LENGTHS, map_channels=CHANNELS)
    head.init_weights()
    return head


def batch(size: int = 7) -> tuple[tuple[torch.Tensor, ...], list[DataSample]]:
    generator = torch.Generator().manual_seed(1)
    features = tuple(torch.randn(size, length, generator=generator) * 3 + 1 for length in LENGTHS)
    return features, [DataSample().set_gt_label(index % 5) for index in range(size)]


def test_scores_by_hand() -> None:
    """Each channel of a map is normalised over batch and places, without scale and offset."""
    head, (features, _) = probes(), batch()
    for probe, feature, channels, scores in zip(head.probes, features, CHANNELS, head(features), strict=True):
        maps = feature.reshape(7, channels, -1)
        centred = maps - maps.mean(dim=(0, 2), keepdim=True)
        normal = centred / (centred.square().mean(dim=(0, 2), keepdim=True) + 1e-5).sqrt()
        expected = normal.reshape(7, -1) @ probe.fc.weight.T + probe.fc.bias
        assert torch.allclose(scores, expected, atol=1e-5)
        assert not probe.norm.affine


def test_losses_are_independent() -> None:
    head, (features, samples) = probes(), batch()
    labels = torch.tensor([index % 5 for index in range(7)])
    losses = head.loss(features, samples)
    assert list(losses) == ['loss_feat1', 'loss_feat2', 'loss_feat3']
    for loss, scores in zip(losses.values(), head(features), strict=True):
        assert loss.item() == pytest.approx(functional.cross_entropy(scores, labels).item())
    for stage in range(3):
        head.zero_grad()
        head.loss(features, samples)[f'loss_feat{stage + 1}'].backward()
        assert [probe.fc.weight.grad is not None for probe in head.probes] == [other == stage for other in range(3)]


def test_predictions() -> None:
    head, (features, samples) = probes().eval(), batch()
    for index, sample in enumerate(head.predict(features, samples)):
        expected = torch.stack([scores[index].softmax(dim=0) for scores in head(features)])
        assert torch.allclose(sample.stage_scores, expected)
        assert torch.equal(sample.pred_score, sample.stage_scores[-1])
        assert sample.pred_label.item() == expected[-1].argmax().item()
        assert sample.gt_label.item() == index % 5
    assert len(head.predict(features)) == 7
