"""What every measure of frozen features has in common, as a metric of mmengine's evaluator."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.metrics.joint_metric import JointMetric

Features = tuple[np.ndarray, np.ndarray | np.integer | None]
"""One query: its features (D,) float32, and its class, its presence vector (C,), or None."""


class FeatureMetric(JointMetric):
    """A measure of the features of one data set (the queries), given those of another (the bank).

    Used by :class:`~mixcl.evaluation.feature_loop.FeatureLoop`: :meth:`fit` takes the bank, usually the training
    images, :meth:`process` the queries, and ``evaluate`` merges the processes, drops what the sampler padded, lets the
    main process :meth:`compute` and forgets the bank. So the result does not depend on the number of processes.

    Args:
        collect_device: see :class:`~mixcl.evaluation.metrics.joint_metric.JointMetric`.
        prefix: ditto.
    """

    def __init__(self, collect_device: str = 'gpu', prefix: str | None = None) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        self.bank: tuple[Tensor, Tensor | None] | None = None
        self.device = torch.device('cpu')

    @abstractmethod
    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Measure.

        Args:
            bank: (Nb, D) float32, on the CPU.
            bank_labels: (Nb,) int64 classes, or (Nb, C) int8 presence (1 present, 0 difficult only, -1 absent), or
                None where the loop reads no labels; on the CPU.
            queries: (Nq, D) float32 in data set order, on the device of the model.
            labels: of the queries, as those of the bank.

        Returns:
            values by name; shares in percent.
        """

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:
        """Refuse labels that :meth:`compute` would refuse, before any image is encoded.

        Called where the data sets know the labels of all their images.

        Args:
            bank_labels: see :meth:`compute`.
            labels: see :meth:`compute`.
        """

    def fit(self, features: Tensor, labels: Tensor | None) -> None:
        """Take the bank.

        Args:
            features: (Nb, D) float32, the same in every process.
            labels: see :meth:`compute`.
        """
        self.bank = features, labels

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Take queries.

        Args:
            data_batch: not used.
            data_samples: dicts with ``features`` (B, D), of any floating dtype and device, and ``labels``.

        Raises:
            UserError: if there is no bank.
        """
        if self.bank is None:
            name = type(self).__name__
            raise UserError(
                f"{name} has no bank to compare with: set val_cfg (and test_cfg) to dict(type='FeatureLoop', "
                'bank_dataloader=...), which provides it'
            )
        for sample in data_samples:
            features, labels = sample['features'], sample['labels']
            self.device = features.device
            rows = repeat(None) if labels is None else labels.cpu().numpy()
            self.results.extend(zip(features.float().cpu().numpy(), rows, strict=False))

    def measure(self, results: list[Features]) -> dict[str, float]:
        """:meth:`compute` of all queries, in data set order."""
        features, labels = zip(*results, strict=True)
        queries = torch.from_numpy(np.stack(features)).to(self.device)
        return self.compute(*self.bank, queries, None if labels[0] is None else torch.from_numpy(np.stack(labels)))

    def evaluate(self, size: int) -> dict[str, float]:
        """As of :class:`~mixcl.evaluation.metrics.joint_metric.JointMetric`; the bank is forgotten."""
        try:
            return super().evaluate(size)
        finally:
            self.bank = None
