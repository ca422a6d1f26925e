"""The key encoder of MoCo v1 and v2, whose batch statistics must not reveal which key belongs to a query."""

import torch
from mmengine.dist import get_rank, get_world_size
from torch import Tensor, nn

from mixcl.distributed import gather_rows
from mixcl.encoders.outputs import pooled_output
from mixcl.encoders.stream import RowsOf
from mixcl.encoders.targets import EMA, Rows
from mixcl.errors import UserError
from mixcl.randomness import StepKey, generator
from mixcl.ranges import COUNT, check_range
from mixcl.registry import TARGET_ENCODERS


@TARGET_ENCODERS.register_module()
class ShuffledEMA(EMA):
    """EMA with shuffled batch normalisation ("Momentum Contrast", 2020, Sec. 3.3).

    The backbone's batch-norm layers see the rows of one process at a time. So keys are encoded on other processes than
    their queries: images are gathered, permuted by a draw that all processes share, encoded, and put back in order. On
    one process a permutation alone changes nothing, so the permuted batch is encoded in ``groups`` parts, each with its
    own statistics.

    Args:
        backbone, neck: the online encoder.
        groups: number of parts on one process; must divide the batch into parts of at least two images.
        **kwargs: arguments of :class:`EMA`; MoCo keeps the momentum at .999.
    """

    def __init__(self, backbone: nn.Module, neck: nn.Module, groups: int = 8, **kwargs: float) -> None:
        super().__init__(backbone, neck, **kwargs)
        check_range('ShuffledEMA', COUNT, groups=groups)
        self.groups = groups
        self.step_key = StepKey(seed=0, step=0, rank=0)

    def begin_step(self, key: StepKey) -> None:
        self.step_key = key

    @torch.no_grad()
    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        return {name: self._encode(name.stream, each.images) for name, each in rows.items()}

    def check_batch(self, batch_size: int, processes: int) -> None:
        if processes == 1 and (batch_size % self.groups or batch_size < 2 * self.groups):
            raise UserError(
                f'ShuffledEMA: a batch of {batch_size} images cannot be encoded in groups={self.groups} equal parts of '
                'at least two; set model.target.groups to a smaller divisor of the batch'
            )

    def _encode(self, stream: str, images: Tensor) -> Tensor:
        world_size, rank, rows = get_world_size(), get_rank(), len(images)
        seed, step, _ = self.step_key  # all processes draw the same order
        order = torch.randperm(world_size * rows, generator=generator(seed, step, 'shuffle', stream))
        order = order.to(images.device, non_blocking=True)
        own = order[rank * rows : (rank + 1) * rows]
        parts = gather_rows(images)[own].chunk(self.groups if world_size == 1 else 1)
        encoded = torch.cat([self._pass(part) for part in parts])
        restored = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        return gather_rows(encoded)[restored[rank * rows : (rank + 1) * rows]]

    def _pass(self, images: Tensor) -> Tensor:
        return self.neck(pooled_output(self.backbone(images), self.backbone))
