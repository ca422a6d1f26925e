"""Linear classifiers at several depths of a frozen backbone, learned side by side."""

from collections import OrderedDict
from collections.abc import Sequence

import torch
from mmengine.model import BaseModule
from mmpretrain.structures import DataSample
from torch import Tensor, nn
from torch.nn import functional

from mixcl.heads.sync_batch_norm import SyncBatchNorm
from mixcl.registry import MODELS


@MODELS.register_module()
class StageProbes(BaseModule):
    """Linear probes, one per depth; each has its own loss, so that none changes what another learns.

    A probe is a batch normalisation per map channel, without scale and offset, and a linear layer.

    They are the head of a classifier over a frozen backbone that gives one flattened map per depth. Losses are
    ``loss_feat1``, ``loss_feat2``, ...; predictions hold ``stage_scores`` (stages, K) for
    :class:`~mixcl.evaluation.metrics.stage_accuracy.StageAccuracy`, and the deepest stage's scores as ``pred_score``.

    Args:
        num_classes: K.
        in_channels: lengths of the flattened maps.
        map_channels: their numbers of channels.
        init_cfg: of mmengine's ``BaseModule``.

    Source: Goyal et al., Scaling and Benchmarking Self-Supervised Visual Representation Learning, 2019, section 6.1.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: Sequence[int],
        map_channels: Sequence[int],
        init_cfg: dict | None = dict(type='Normal', layer='Linear', std=0.01),  # noqa: B006 (mmengine copies it)
    ) -> None:
        super().__init__(init_cfg)
        self.num_classes = num_classes
        self.probes = nn.ModuleList(
            nn.Sequential(
                OrderedDict(
                    maps=nn.Unflatten(1, (channels, -1)),
                    norm=SyncBatchNorm(channels, affine=False),
                    flat=nn.Flatten(),
                    fc=nn.Linear(length, num_classes),
                )
            )
            for length, channels in zip(in_channels, map_channels, strict=True)
        )

    def forward(self, features: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Compute scores (B, K) of every stage from features (B, D_i)."""
        return tuple(probe(feature) for probe, feature in zip(self.probes, features, strict=True))

    def loss(self, features: tuple[Tensor, ...], data_samples: list[DataSample]) -> dict[str, Tensor]:
        labels = torch.stack([sample.gt_label.squeeze() for sample in data_samples])
        scores = self(features)
        return {f'loss_feat{number}': functional.cross_entropy(stage, labels) for number, stage in enumerate(scores, 1)}

    def predict(
        self, features: tuple[Tensor, ...], data_samples: list[DataSample | None] | None = None
    ) -> list[DataSample]:
        """Fill ``stage_scores`` (stages, K), ``pred_score`` (K,) and ``pred_label`` of every sample."""
        scores = torch.stack(self(features), dim=1).softmax(dim=-1)
        samples = [sample or DataSample() for sample in data_samples or [None] * len(scores)]
        for sample, stages in zip(samples, scores, strict=True):
            sample.set_field(stages, 'stage_scores')
            sample.set_pred_score(stages[-1]).set_pred_label(stages[-1].argmax())
        return samples
