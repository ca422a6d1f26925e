"""Cosine schedules of the learning rate that are closed functions of the step."""

import math
from typing import Any

from mmengine.optim.scheduler.param_scheduler import INF, _ParamScheduler
from torch.optim import Optimizer

from mixcl.registry import PARAM_SCHEDULERS


@PARAM_SCHEDULERS.register_module()
class WarmupCosineLR(_ParamScheduler):
    """Linear warm-up from 0, then a cosine to a final learning rate (the schedule of DINO and PatchMix).

    With W warm-up steps of N in all: ``base * t / (W - 1)`` for t < W, then
    ``final + (base - final) * (1 + cos(pi * (t - W) / (N - W))) / 2``. The value is a function of the step alone and
    not of the value before it, so a resumed run is exactly on it.

    Parameter groups with ``fix_lr=True`` keep their learning rate (SimSiam's predictor).

    Args:
        optimizer: or mmengine's wrapper of it; given by the Runner.
        warmup: length of the warm-up, in epochs or steps as ``by_epoch`` says.
        final: learning rate at the end, not scaled with the batch size.
        begin, end, last_step, by_epoch, verbose: same as mmengine's schedulers; the Runner fills in ``end``. With
            ``convert_to_iter_based=True`` in the config, epochs become steps.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup: float,
        final: float = 0.0,
        begin: int = 0,
        end: int = INF,
        last_step: int = -1,
        by_epoch: bool = True,
        verbose: bool = False,
    ) -> None:
        self.warmup = min(warmup, end - begin)
        self.length = end - begin
        self.final = final
        super().__init__(optimizer, 'lr', begin, end, last_step, by_epoch, verbose)

    @classmethod
    def build_iter_from_epoch(
        cls,
        optimizer: Optimizer,
        warmup: float,
        begin: int = 0,
        end: int = INF,
        by_epoch: bool = True,
        epoch_length: int = 1,
        **kwargs: Any,
    ) -> 'WarmupCosineLR':
        """Build a scheduler in steps from one in epochs; called by the Runner for ``convert_to_iter_based=True``."""
        begin, end = int(begin * epoch_length), INF if end == INF else int(end * epoch_length)
        warmup = round(warmup * epoch_length)
        return cls(optimizer, warmup, begin=begin, end=end, by_epoch=False, **kwargs)

    def load_state_dict(self, state_dict: dict) -> None:
        """Take the position from a checkpoint, and the shape of the schedule from the config."""
        for name in ('last_step', '_global_step', '_last_value'):
            setattr(self, name, state_dict[name])

    def factor(self, step: int) -> tuple[float, float]:
        """The learning rate at a step as shares (of the base rate, of the final rate)."""
        if step < self.warmup:
            return step / max(self.warmup - 1, 1), 0.0
        cosine = (1 + math.cos(math.pi * (step - self.warmup) / (self.length - self.warmup))) / 2
        return cosine, 1 - cosine

    def _get_value(self) -> list[float]:
        base_share, final_share = self.factor(self.last_step)
        return [
            base if group.get('fix_lr') else base * base_share + self.final * final_share
            for base, group in zip(self.base_values, self.optimizer.param_groups, strict=True)
        ]


@PARAM_SCHEDULERS.register_module()
class MoCoV3CosineLR(WarmupCosineLR):
    """As :class:`WarmupCosineLR`, but the warm-up is ``base * t / W``: the base rate comes with step W, not W - 1.

    The schedule of the MoCo v3 authors' code.
    """

    def factor(self, step: int) -> tuple[float, float]:
        return (step / self.warmup, 0.0) if step < self.warmup else super().factor(step)


@PARAM_SCHEDULERS.register_module()
class CutWarmupCosineLR(WarmupCosineLR):
    """A cosine over the whole run, cut off by a linear rise: ``base * min((t + 1) / W, (1 + cos(pi t / N)) / 2)``.

    The schedule of the APS authors' code. Arguments same as :class:`WarmupCosineLR`.
    """

    def factor(self, step: int) -> tuple[float, float]:
        cosine = (1 + math.cos(math.pi * step / self.length)) / 2
        rise = (step + 1) / self.warmup if self.warmup else 1.0
        return min(rise, cosine), 1 - cosine


@PARAM_SCHEDULERS.register_module()
class TimmCosineLR(WarmupCosineLR):
    """A cosine over the whole run whose first epochs a linear warm-up replaces, one epoch late: timm's, with which
    DeiT, PatchMix and APS fine-tune.

    timm's scripts step the schedule with the index of the epoch that has just ended. So the epochs 0 and 1 share a
    rate, and epoch e runs at that of ``t = max(e - 1, 0)``:

    - ``start + (base - start) * t / W`` for t < W, the warm-up of W epochs;
    - ``final + (base - final) * (1 + cos(pi * t / N)) / 2`` from there, N epochs in all. The cosine begins at epoch 0,
      not at the end of the warm-up.

    Groups with an ``lr_scale`` (layer decay) have the whole curve scaled by it, start and final rate too. The value is
    a function of the epoch alone.

    Args:
        optimizer: given by the Runner.
        warmup: epochs of warm-up.
        start: learning rate at the start of the warm-up, not scaled with the batch size.
        final: learning rate that the cosine runs towards, not scaled with the batch size.
        begin, end, last_step, by_epoch, verbose: same as mmengine's schedulers.

    Source: timm, ``CosineLRScheduler(warmup_prefix=False)`` and ``train.py``; DeiT, ``main.py``.
    """

    def __init__(
        self, optimizer: Optimizer, warmup: int = 0, start: float = 0.0, final: float = 0.0, **kwargs: Any
    ) -> None:
        self.start = start
        super().__init__(optimizer, warmup, final, **kwargs)

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
