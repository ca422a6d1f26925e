"""Target encoders: where the keys come from."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.sgd import sgd
from torch.optim.swa_utils import get_ema_multi_avg_fn

from mixcl.distributed import local_part
from mixcl.encoders.passes import backbone_features, project
from mixcl.encoders.stream import RowsOf, Stream
from mixcl.randomness import StepKey
from mixcl.ranges import SHARE, check_range
from mixcl.registry import TARGET_ENCODERS

Rows = Mapping[RowsOf, Stream]


class TargetEncoder(nn.Module, ABC):
    """Encoder of key streams. Built with the online backbone and neck, which it may copy but must not keep."""

    own_weights = False
    """Whether it has a second set of weights, which can be evaluated as encoder 'target'."""

    is_another_network = False
    """Whether its features are of another network, so that a row may have the same view as query and key."""

    def __init__(self, backbone: nn.Module, neck: nn.Module) -> None:
        super().__init__()

    def online_rows(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        """Return the rows to encode online with gradient; by default the queries."""
        return queries

    @abstractmethod
    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        """Project the key rows.

        Args:
            rows: the keys.
            projections: projections of the rows of :meth:`online_rows`.
            backbone, neck: the online encoder.

        Returns:
            (n, D) projections of all ``rows``.
        """

    @abstractmethod
    def passes(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        """Return the key rows that need a forward pass of their own."""

    def begin_step(self, key: StepKey) -> None:
        """Set the key of the step, for encoders that draw random numbers."""

    def follow(self, preprocessor: nn.Module) -> None:
        """Learn how images are normalised, for encoders that take them otherwise."""

    def check_batch(self, batch_size: int, processes: int) -> None:
        """Raise :class:`~mixcl.errors.UserError` if batches of this size in each of the processes cannot be encoded."""

    def copy_weights(self, backbone: nn.Module, neck: nn.Module) -> None:
        """Copy the online weights after their initialisation; do nothing without weights of its own."""

    def update(
        self, backbone: nn.Module, neck: nn.Module, progress: float, epochs: int, taken: bool | Tensor = True
    ) -> dict[str, float]:
        """Follow the online weights after an optimiser step.

        Args:
            backbone, neck: the online encoder.
            progress: share of the run that is over after this step, in (0, 1].
            epochs: length of the run.
            taken: whether the step changed the online weights; the target does not move after a skipped step. A float
                scalar, 0 or 1, if only the device knows.

        Returns:
            Values for the log.
        """
        return {}


@TARGET_ENCODERS.register_module()
class StopGrad(TargetEncoder):
    """The online encoder itself, without gradient (SimSiam; the frames of PatchMix and APS without momentum).

    A stream that is both query and key is encoded once, with the patches that the query keeps.
    """

    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        missing = {name: each for name, each in rows.items() if name not in projections}
        with torch.no_grad():
            fresh = project(neck, backbone_features(backbone, missing), missing)
        return {name: fresh[name] if name in fresh else projections[name].detach() for name in rows}

    def passes(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        return keys - queries


@TARGET_ENCODERS.register_module()
class Shared(TargetEncoder):
    """The online encoder itself, with gradient (SimCLR): keys are trained as queries are.

    A stream that is both query and key is encoded once, with the patches that the query keeps.
    """

    def online_rows(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        return queries | keys

    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        return {name: projections[name] for name in rows}

    def passes(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        return set()


@TARGET_ENCODERS.register_module()
class EMA(TargetEncoder):
    """An exponential moving average of the online encoder (MoCo Eq. 2; BYOL): target <- m * target + (1 - m) * online.

    Only parameters are averaged; the batch-norm buffers follow the target's own forward passes (train mode). The
    copy has no drop path, so keys are not stochastic. The momentum rises from ``momentum`` to
    ``final_momentum`` on a cosine over the optimiser steps: m = final - (final - momentum) * (1 + cos(pi t)) / 2.

    Args:
        backbone, neck: the online encoder, copied.
        momentum: m at the start, in [0, 1]. PatchMix .996, MoCo v3 .99.
        final_momentum: m at the end, in [0, 1].
    """

    own_weights = True

    def __init__(
        self, backbone: nn.Module, neck: nn.Module, momentum: float = 0.996, final_momentum: float = 1.0
    ) -> None:
        super().__init__(backbone, neck)
        check_range('EMA', SHARE, momentum=momentum, final_momentum=final_momentum)
        self.momentum = momentum
        self.final_momentum = final_momentum
        self.backbone = _without_drop_path(copy.deepcopy(backbone))
        self.neck = copy.deepcopy(neck)
        self.requires_grad_(False)

    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        with torch.no_grad():
            return project(self.neck, backbone_features(self.backbone, rows), rows)

    def passes(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        return keys

    def copy_weights(self, backbone: nn.Module, neck: nn.Module) -> None:
        self.backbone.load_state_dict(backbone.state_dict())
        self.neck.load_state_dict(neck.state_dict())

    def momentum_at(self, progress: float, epochs: int) -> float:
        """Return m when a share ``progress`` of a run of ``epochs`` epochs is over."""
        return self.final_momentum - (self.final_momentum - self.momentum) * (1 + math.cos(math.pi * progress)) / 2

    @torch.no_grad()
    def update(
        self, backbone: nn.Module, neck: nn.Module, progress: float, epochs: int, taken: bool | Tensor = True
    ) -> dict[str, float]:
        momentum = self.momentum_at(progress, epochs)
        online = [*backbone.parameters(), *neck.parameters()]
        own = [*self.backbone.parameters(), *self.neck.parameters()]
        if isinstance(taken, Tensor):
            follow_if(taken, own, online, 1 - momentum)
        elif taken:
            get_ema_multi_avg_fn(momentum)(own, online, None)
        return dict(ema_momentum=momentum)


@TARGET_ENCODERS.register_module()
class EpochwiseEMA(EMA):
    """EMA whose momentum is constant within an epoch, as in the code of PatchMix's authors (due to a shadowed index).

    Same arguments as :class:`EMA`.
    """

    def momentum_at(self, progress: float, epochs: int) -> float:
        # The progress includes the current step, so the last step of an epoch still belongs to it.
        return super().momentum_at(max(math.ceil(progress * epochs - 1e-9) - 1, 0) / epochs, epochs)


def follow_if(taken: Tensor, target: Sequence[Tensor], online: Sequence[Tensor], share: float) -> None:
    """Move ``target`` a share of the way to ``online`` where the scalar ``taken`` is 1; leave it where it is 0."""
    # A fused step of SGD with target - online as its gradient, which the device skips if found_inf is 1.
    targets, sources = list(map(local_part, target)), list(map(local_part, online))
    settings: dict[str, Any] = dict(weight_decay=1.0, maximize=True, momentum=0.0, dampening=0.0, nesterov=False)
    sgd(targets, sources, [None] * len(target), fused=True, found_inf=1 - taken, lr=share, **settings)


def _without_drop_path(module: nn.Module) -> nn.Module:
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child).__name__ in ('DropPath', 'StochasticDepth'):  # of mmcv, timm, torchvision
                setattr(parent, name, nn.Identity())
    return module
