"""What a training step computed, for reports."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from mixcl.composition import SoftTarget


@dataclass(frozen=True)
class StepOutputs:
    """The streams of the first term of a step on this process, without gradients.

    Attributes:
        features: (R, C) of the query stream, from the backbone.
        queries: (R, D) of the query stream, from the last head.
        keys: (n, D) of the key stream, from the target encoder; not gathered.
        target: of the queries over these keys.
    """

    features: Tensor
    queries: Tensor
    keys: Tensor
    target: SoftTarget


StepObserver = Callable[[StepOutputs], None]
