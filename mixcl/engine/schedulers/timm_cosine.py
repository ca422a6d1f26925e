"""The learning rate schedule of timm's training scripts, as DeiT, PatchMix and APS fine-tune with it."""

import math

from mmengine.optim.scheduler.param_scheduler import INF, _ParamScheduler
from torch.optim import Optimizer

from mixcl.registry import PARAM_SCHEDULERS


@PARAM_SCHEDULERS.register_module()
class TimmCosineLR(_ParamScheduler):
    """A cosine over the whole run whose first epochs a linear warm-up replaces, one epoch late.

    timm's scripts step the schedule with the index of the epoch that has just ended. So the epochs 0 and 1 share a
    rate, and epoch e runs at that of ``t = max(e - 1, 0)``:

    - ``start + (base - start) * t / W`` for t < W, the warm-up of W epochs;
    - ``final + (base - final) * (1 + cos(pi * t / N)) / 2`` from there, N epochs in all. The cosine begins at epoch 0,
      not at the end of the warm-up.

    Groups with an ``lr_scale`` (layer decay) have the whole curve scaled by it, start and final rate too. The value is
    a function of the epoch alone.

    Args:
        optimizer: or mmengine's wrapper of it; given by the Runner.
        warmup: epochs of warm-up.
        start: learning rate at the start of the warm-up, not scaled with the batch size.
        final: learning rate that the cosine runs towards, not scaled with the batch size.
        begin, end, last_step, by_epoch, verbose: as of mmengine's schedulers; the Runner fills in ``end``.

    Source: timm, ``CosineLRScheduler(warmup_prefix=False)`` and ``train.py``; DeiT, ``main.py``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup: int = 0,
        start: float = 0.0,
        final: float = 0.0,
        begin: int = 0,
        end: int = INF,
        last_step: int = -1,
        by_epoch: bool = True,
        verbose: bool = False,
    ) -> None:
        self.warmup = warmup
        self.length = end - begin
        self.start = start
        self.final = final
        super().__init__(optimizer, 'lr', begin, end, last_step, by_epoch, verbose)

    def load_state_dict(self, state_dict: dict) -> None:
        """Take the position from a checkpoint, and the shape of the schedule from the config."""
        for name in ('last_step', '_global_step', '_last_value'):
            setattr(self, name, state_dict[name])

    def rate(self, base: float, epoch: int) -> float:
        """The learning rate of an epoch for a group whose base rate, before any layer decay, is ``base``."""
        t = max(epoch - 1, 0)
        if t < self.warmup:
            return self.start + (base - self.start) * t / self.warmup
        return self.final + (base - self.final) * (1 + math.cos(math.pi * t / self.length)) / 2

    def _get_value(self) -> list[float]:
        scales = [group.get('lr_scale', 1.0) for group in self.optimizer.param_groups]
        return [
            scale * self.rate(base / scale, self.last_step)
            for base, scale in zip(self.base_values, scales, strict=True)
        ]
