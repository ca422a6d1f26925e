"""Speed of a run, in images and in FLOPs."""

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from mixcl.engine.hooks.health.step_log import is_logged, log_interval
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS

FLOPS_KEY = 'flops_per_step'
"""Key in the message hub, and so in checkpoints: FLOPs of one process's step, by its batch size."""

PEAK_MATRIX_SIDE = dict(cpu=1024, cuda=8192)
"""Side of the square matrices whose product measures the peak, by device."""

_aten = torch.ops.aten
CPU_ATTENTION = {
    _aten._scaled_dot_product_flash_attention_for_cpu: flop_registry[
        _aten._scaled_dot_product_flash_attention
    ].__wrapped__,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward: flop_registry[
        _aten._scaled_dot_product_flash_attention_backward
    ].__wrapped__,
}
"""FLOP formulas that PyTorch's registry lacks; the arguments are those of GPU attention."""


@HOOKS.register_module()
class ThroughputHook(Hook):
    """Logs the speed of a run, over the steps since the last line of the log.

    - ``train/images_per_second`` of all processes; an image counts once, however many views it gives;
    - ``train/data_wait``, the share of time waiting for data;
    - ``train/mfu``, the FLOPs of a step over those that matrix products reach in its time on this device.

    FLOPs are counted in the first step, in which compiled blocks run uncompiled; a resumed compiled run reads them from
    its checkpoint.
    """

    # After the timer, before the logger.
    priority = 'NORMAL'
    flops = 0
    peak = 0.0
    _counter: FlopCounterMode | None = None
    _advised = False

    def before_train(self, runner: Runner) -> None:
        """Measure the peak in the precision of the run, and ask the loop to count its first step."""
        device = next(runner.model.parameters()).device.type
        if device not in PEAK_MATRIX_SIDE or not hasattr(runner.train_loop, 'around_step'):
            return
        with runner.optim_wrapper.optim_context(runner.model):
            autocast = torch.is_autocast_enabled(device)
        self.peak = peak_flops(device, torch.get_autocast_dtype(device) if autocast else torch.float32)
        if device == 'cuda':  # the run's memory excludes the matrices
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        compiled = any(module._compiled_call_impl for module in runner.model.modules())
        batch = runner.train_dataloader.batch_sampler.batch_size
        self.flops = runner.message_hub.runtime_info.get(FLOPS_KEY, {}).get(batch, 0) if compiled else 0
        if not self.flops:
            self._counter = flop_counter()
            runner.train_loop.around_step = _counting(self._counter)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, **kwargs: Any) -> None:
        batch = runner.train_dataloader.batch_sampler.batch_size
        if self._counter is not None:
            self.flops = self._counter.get_total_flops()
            runner.message_hub.update_info(FLOPS_KEY, {batch: self.flops})
            runner.train_loop.around_step, self._counter = nullcontext(), None
            runner.logger.info(
                f'{self.flops / 1e9:.4g} GFLOPs per step and process: {self.flops / self.peak:.3g} s at the '
                f'{self.peak / 1e9:.4g} GFLOPs per second that matrix products reach here',
                extra=FOR_PEOPLE,
            )
        timed = 'train/time' in runner.message_hub.log_scalars  # unless default_hooks.timer=None
        if not timed or not is_logged(runner, batch_idx):
            return
        hub, steps = runner.message_hub, batch_idx % log_interval(runner) + 1
        seconds = max(hub.get_scalar('train/time').mean(steps), 1e-9)
        waiting = hub.get_scalar('train/data_time').mean(steps)
        images = batch / getattr(runner.train_dataloader, 'chunks', 1)
        hub.update_scalar('train/images_per_second', images * runner.world_size / seconds)
        hub.update_scalar('train/data_wait', min(waiting / seconds, 1.0))
        if self.flops:
            hub.update_scalar('train/mfu', self.flops / seconds / self.peak)
        copies = getattr(runner.train_dataloader.dataset, 'copies', None)
        if copies and not self._advised and runner.iter >= log_interval(runner):
            shapes = [sample.ori_shape for sample in data_batch.get('data_samples', ()) if 'ori_shape' in sample]
            if advice := copies.advice(shapes, len(runner.train_dataloader.dataset), waiting / seconds):
                runner.logger.info(advice, extra=FOR_PEOPLE)
                self._advised = True


@contextmanager
def _counting(counter: FlopCounterMode) -> Iterator[None]:
    with torch.compiler.set_stance('force_eager'), counter:
        yield


def flop_counter() -> FlopCounterMode:
    """Return PyTorch's counter, extended to the fused attention of CPUs; not for compiled code."""
    return FlopCounterMode(display=False, custom_mapping=CPU_ATTENTION)


@functools.cache
def peak_flops(device: str, dtype: torch.dtype) -> float:
    """Return the FLOPs per second of the fastest of at least three large matrix products, repeated for 0.1 s.

    Args:
        device: one of :data:`PEAK_MATRIX_SIDE`.
        dtype: precision of the matrices.
    """
    side, generator = PEAK_MATRIX_SIDE[device], torch.Generator(device).manual_seed(0)
    factors = [torch.randn(side, side, device=device, generator=generator).to(dtype) for _ in range(2)]
    times: list[float] = []
    while len(times) < 3 or sum(times) < 0.1:
        start = time.perf_counter()
        factors[0] @ factors[1]
        if device == 'cuda':
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 2 * side**3 / min(times)
