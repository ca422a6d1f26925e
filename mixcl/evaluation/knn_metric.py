"""kNN accuracy as a metric of mmengine's evaluator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.knn import NEIGHBOURS, TEMPERATURE, check_vote, knn_hits
from mixcl.registry import METRICS


@METRICS.register_module()
class KNNAccuracy(BaseMetric):
    """Top-1 and top-5 accuracy of weighted nearest neighbours, in percent, under ``knn{k}_top1`` and ``knn{k}_top5``.

    Used by :class:`~mixcl.evaluation.knn_loop.KNNLoop`: :meth:`fit` takes the bank, :meth:`process` the queries, and
    ``evaluate`` merges the processes, drops what the sampler padded and forgets the bank.

    Args:
        neighbours: values of k; one larger than the bank uses the whole bank.
        temperature: of the vote, above 0.
        collect_device: 'gpu' gathers through the process group (over gloo too); 'cpu' through files in a folder that
            all processes must see.
        prefix: put before the names, with a slash; needed only to tell several of these metrics apart.

    Raises:
        UserError: if ``neighbours`` or ``temperature`` mean nothing.
    """

    # An empty prefix is mmengine's way of asking for plain names; None would log a warning.
    default_prefix = ''

    def __init__(
        self,
        neighbours: Sequence[int] = NEIGHBOURS,
        temperature: float = TEMPERATURE,
        collect_device: str = 'gpu',
        prefix: str | None = None,
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        check_vote(neighbours, temperature)
        self.neighbours = tuple(neighbours)
        self.temperature = temperature
        self.bank: tuple[Tensor, Tensor] | None = None

    def fit(self, features: Tensor, labels: Tensor) -> None:
        """Take the images that vote.

        Args:
            features: (Nb, D), any floating dtype and device, the same in every process.
            labels: (Nb,) int64 classes.
        """
        self.bank = features, labels

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Classify queries.

        Args:
            data_batch: not used.
            data_samples: dicts with ``features`` (B, D) and ``labels`` (B,) int64.

        Raises:
            UserError: if there is no bank, or features or labels are unusable.
        """
        if self.bank is None:
            raise UserError(
                "KNNAccuracy has no bank to compare with: set val_cfg (and test_cfg) to dict(type='KNNLoop', "
                'bank_dataloader=...), which provides it'
            )
        for sample in data_samples:
            hits = knn_hits(sample['features'], sample['labels'], *self.bank, self.neighbours, self.temperature)
            rows = torch.stack(list(hits.values()), dim=1).tolist()
            self.results.extend(dict(zip(hits, row, strict=True)) for row in rows)

    def compute_metrics(self, results: list[dict[str, bool]]) -> dict[str, float]:
        """Average the hits.

        Args:
            results: one dict per query, whether it was hit under each name.

        Returns:
            percent under each name.
        """
        return {name: 100 * float(np.mean([hits[name] for hits in results])) for name in results[0]}

    def evaluate(self, size: int) -> dict[str, float]:
        """Merge the processes and average; the bank is forgotten.

        Args:
            size: queries in the data set; what the sampler padded beyond it is dropped.

        Returns:
            percent under each name, in every process.
        """
        self.bank = None
        return super().evaluate(size)
