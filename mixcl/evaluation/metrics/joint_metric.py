"""Metrics whose refusals reach every process."""

from abc import abstractmethod
from typing import Any

from mmengine.evaluator import BaseMetric

from mixcl.errors import UserError


class JointMetric(BaseMetric):
    """A metric that refuses in all processes what it refuses in one.

    mmengine lets the main process alone compute, while the others wait for its values: an error there would leave
    them waiting for ever. So the refusal travels in the place of the values.

    Args:
        collect_device: 'gpu' gathers through the process group (over gloo too); 'cpu' through files in a folder that
            all processes must see.
        prefix: put before the names, with a slash; needed only to tell several metrics of one class apart.
    """

    # An empty prefix is mmengine's way of asking for plain names; None would log a warning.
    default_prefix = ''

    def __init__(self, collect_device: str = 'gpu', prefix: str | None = None) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)

    @abstractmethod
    def measure(self, results: list) -> dict[str, float]:
        """Values by name, from what :meth:`process` of all processes stored, in data set order.

        Raises:
            UserError: where there is nothing to measure.
        """

    def compute_metrics(self, results: list) -> dict[str, Any]:
        """:meth:`measure`; what it refuses is the only value."""
        try:
            return self.measure(results)
        except UserError as error:
            return dict(refusal=error)

    def evaluate(self, size: int) -> dict[str, float]:
        """Merge the processes and measure.

        Args:
            size: samples in the data set; what the sampler padded beyond it is dropped.

        Returns:
            values by name, in every process.

        Raises:
            UserError: in every process, if :meth:`measure` refuses.
        """
        metrics = super().evaluate(size)
        for value in metrics.values():
            if isinstance(value, UserError):
                raise value
        return metrics
