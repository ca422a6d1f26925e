"""What every measure of frozen features has in common, as a metric of mmengine's evaluator."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from mixcl.errors import UserError

Features = tuple[np.ndarray, np.ndarray | np.integer | None]
"""One query: its features (D,) float32, and its class, its presence vector (C,), or None."""


class FeatureMetric(BaseMetric):
    """A measure of the features of one data set (the queries), given those of another (the bank).

    Used by :class:`~mixcl.evaluation.feature_loop.FeatureLoop`: :meth:`fit` takes the bank, usually the training
    images, :meth:`process` the queries, and ``evaluate`` merges the processes, drops what the sampler padded, lets the
    main process :meth:`compute` and forgets the bank. So the result does not depend on the number of processes.

    Args:
        collect_device: 'gpu' gathers through the process group (over gloo too); 'cpu' through files in a folder that
            all processes must see.
        prefix: put before the names, with a slash; needed only to tell several metrics of one class apart.
    """

    # An empty prefix is mmengine's way of asking for plain names; None would log a warning.
    default_prefix = ''

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

    def compute_metrics(self, results: list[Features]) -> dict[str, Any]:
        """:meth:`compute` of all queries, in data set order; what it refuses is the only value."""
        features, labels = zip(*results, strict=True)
        queries = torch.from_numpy(np.stack(features)).to(self.device)
        try:
            return self.compute(*self.bank, queries, None if labels[0] is None else torch.from_numpy(np.stack(labels)))
        except UserError as error:
            # The other processes wait for the values of this one, so that they must get the refusal in their place.
            return dict(refusal=error)

    def evaluate(self, size: int) -> dict[str, float]:
        """Merge the processes and measure; the bank is forgotten.

        Args:
            size: queries in the data set; what the sampler padded beyond it is dropped.

        Returns:
            values by name, in every process.

        Raises:
            UserError: in every process, if :meth:`compute` refuses.
        """
        try:
            metrics = super().evaluate(size)
        finally:
            self.bank = None
        for value in metrics.values():
            if isinstance(value, UserError):
                raise value
        return metrics
