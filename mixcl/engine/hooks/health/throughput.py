"""How fast a run is, in images and in arithmetic."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.utils.flop_counter import FlopCounterMode

from mixcl.engine.hooks.health.arithmetic import PRODUCT, flop_counter, peak_flops
from mixcl.engine.hooks.health.step_log import is_logged, log_interval
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS

STORED = 'flops_per_step'
"""In the message hub, and so in checkpoints: FLOPs of a step of one process, by its batch size."""


@HOOKS.register_module()
class ThroughputHook(Hook):
    """Logs ``train/images_per_second`` of all processes, ``train/data_wait``, the share of time waiting for data, and
    ``train/mfu``, the FLOPs of a step over those that matrix products reach in its time on this device.

    All are over the steps since the last line of the log. An image counts once, however many views it gives. FLOPs are
    counted in the first step, which compiled blocks take uncompiled for that; a run that continues knows them from its
    checkpoint.
    """

    # After the timer, before the logger.
    priority = 'NORMAL'
    flops = 0
    peak = 0.0
    _counter: FlopCounterMode | None = None

    def before_train(self, runner: Runner) -> None:
        """Measure the peak in the precision of the run, and ask the loop to count its first step."""
        device = next(runner.model.parameters()).device.type
        if device not in PRODUCT or not hasattr(runner.train_loop, 'around_step'):
            return
        with runner.optim_wrapper.optim_context(runner.model):
            autocast = torch.is_autocast_enabled(device)
        self.peak = peak_flops(device, torch.get_autocast_dtype(device) if autocast else torch.float32)
        if device == 'cuda':  # the matrices are no memory of the run
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        compiled = any(module._compiled_call_impl for module in runner.model.modules())
        self.flops = runner.message_hub.runtime_info.get(STORED, {}).get(_batch(runner), 0) if compiled else 0
        if not self.flops:
            self._counter = flop_counter()
            runner.train_loop.around_step = _counting(self._counter)

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        if self._counter is not None:
            self.flops = self._counter.get_total_flops()
            runner.message_hub.update_info(STORED, {_batch(runner): self.flops})
            runner.train_loop.around_step, self._counter = nullcontext(), None
            runner.logger.info(
                f'{self.flops / 1e9:.4g} GFLOPs per step and process: {self.flops / self.peak:.3g} s at the '
                f'{self.peak / 1e9:.4g} GFLOPs per second that matrix products reach here',
                extra=FOR_PEOPLE,
            )
        if not is_logged(runner, batch_idx):
            return
        hub, steps = runner.message_hub, batch_idx % log_interval(runner) + 1
        seconds = max(hub.get_scalar('train/time').mean(steps), 1e-9)
        waiting = hub.get_scalar('train/data_time').mean(steps)
        hub.update_scalar('train/images_per_second', _batch(runner) * runner.world_size / seconds)
        hub.update_scalar('train/data_wait', min(waiting / seconds, 1.0))
        if self.flops:
            hub.update_scalar('train/mfu', self.flops / seconds / self.peak)


def _batch(runner: Runner) -> int:
    loader = runner.train_dataloader
    return loader.batch_size or loader.batch_sampler.batch_size  # a sampler may make the batches, as in mmdet


@contextmanager
def _counting(counter: FlopCounterMode) -> Iterator[None]:
    with torch.compiler.set_stance('force_eager'), counter:
        yield
