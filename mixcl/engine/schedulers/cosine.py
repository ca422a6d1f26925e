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
    ``final + (base - final) * (1 + cos(pi * (t - W) / (N - W))) / 2``: a function of the step alone.

    Parameter groups with ``fix_lr=True`` keep their learning rate (SimSiam's predictor). An ``lr_scale`` of a group
    (layer decay) scales its whole curve, including the final rate.

    Args:
        optimizer: an optimiser or mmengine's wrapper of one; given by the Runner.
        warmup: length of the warm-up, in epochs or steps as ``by_epoch`` says.
        final: learning rate at the end, not scaled with the batch size.
        begin, end, ...: same as mmengine's schedulers; the Runner fills in ``end``.
    """

    def __init__(
        self, optimizer: Optimizer, warmup: float, final: float = 0.0, begin: int = 0, end: int = INF, **kwargs: Any
    ) -> None:
        self.warmup = min(warmup, end - begin)
        self.length = end - begin
        self.final = final
        super().__init__(optimizer, 'lr', begin, end, **kwargs)

    @classmethod
    def build_iter_from_epoch(
        cls, warmup: float, epoch_length: int, begin: int = 0, end: int = INF, **kwargs: Any
    ) -> 'WarmupCosineLR':
        """Build a scheduler in steps from one in epochs; called by the Runner for ``convert_to_iter_based=True``."""
        begin, end = int(begin * epoch_length), INF if end == INF else int(end * epoch_length)
        kwargs |= dict(warmup=round(warmup * epoch_length), begin=begin, end=end, by_epoch=False)
        return cls(**kwargs)

    def load_state_dict(self, state_dict: dict) -> None:
        """Take the position from a checkpoint, and the shape of the schedule from the config."""
        for name in ('last_step', '_global_step', '_last_value'):
            setattr(self, name, state_dict[name])

    def rate(self, base: float, step: int) -> float:
        """Return the learning rate at a step, for a group whose base rate is ``base`` before any layer decay."""
        if step < self.warmup:
            return base * (step / max(self.warmup - 1, 1))
        return self._cosine(base, (step - self.warmup) / (self.length - self.warmup))

    def _cosine(self, base: float, progress: float) -> float:
        share = (1 + math.cos(math.pi * progress)) / 2
        return base * share + self.final * (1 - share)

    def _get_value(self) -> list[float]:
        rates = []
        for base, group in zip(self.base_values, self.optimizer.param_groups, strict=True):
            scale = group.get('lr_scale', 1.0)
            rates.append(base if group.get('fix_lr') else scale * self.rate(base / scale, self.last_step))
        return rates


@PARAM_SCHEDULERS.register_module()
class MoCoV3CosineLR(WarmupCosineLR):
    """Same as :class:`WarmupCosineLR`, but the warm-up is ``base * t / W``: the base rate comes at step W, not W - 1.

    This is the schedule of the MoCo v3 authors' code.
    """

    def rate(self, base: float, step: int) -> float:
        return base * (step / self.warmup) if step < self.warmup else super().rate(base, step)


@PARAM_SCHEDULERS.register_module()
class CutWarmupCosineLR(WarmupCosineLR):
    """Cosine over the whole run, capped by a linear rise: ``base * min((t + 1) / W, (1 + cos(pi t / N)) / 2)``.

    This is the schedule of the APS authors' code. Arguments same as :class:`WarmupCosineLR`.
    """

    def rate(self, base: float, step: int) -> float:
        rise = base * ((step + 1) / self.warmup) if self.warmup else base
        return min(rise, self._cosine(base, step / self.length))


@PARAM_SCHEDULERS.register_module()
class TimmCosineLR(WarmupCosineLR):
    """Cosine over the whole run with a linear warm-up in place of its first epochs, one epoch late.

    DeiT, PatchMix and APS fine-tune with this schedule of timm.

    Epoch e runs at the rate of ``t = max(e - 1, 0)``, since timm's scripts step with the epoch that has just ended:

    - ``start + (base - start) * t / W`` for t < W, the warm-up of W epochs;
    - ``final + (base - final) * (1 + cos(pi * t / N)) / 2`` from there, N epochs in all.

    Args:
        optimizer, warmup, final, ...: same as :class:`WarmupCosineLR`; in epochs.
        start: learning rate at the start of the warm-up, not scaled with the batch size.

    Source: timm, ``CosineLRScheduler(warmup_prefix=False)`` and ``train.py``; DeiT, ``main.py``.
    """

    def __init__(
        self, optimizer: Optimizer, warmup: int = 0, start: float = 0.0, final: float = 0.0, **kwargs: Any
    ) -> None:
        self.start = start
        super().__init__(optimizer, warmup, final, **kwargs)

    def rate(self, base: float, step: int) -> float:
        t = max(step - 1, 0)
        if t < self.warmup:
            return self.start + (base - self.start) * t / self.warmup
        return self._cosine(base, t / self.length)
