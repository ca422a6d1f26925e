"""How fast a run is, and how long it waits for data, in every line of the log."""

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.hooks.health.deferred_log import is_logged, log_interval
from mixcl.registry import HOOKS


@HOOKS.register_module()
class ThroughputHook(Hook):
    """Logs ``train/images_per_second`` of all processes and ``train/data_wait``, the share of time waiting for data.

    Both are over the steps since the last line of the log, from the times that ``IterTimerHook`` takes. An image counts
    once, however many views it gives; with APS once per chunk of its patches.
    """

    # After the timer, before the logger.
    priority = 'NORMAL'

    def before_train(self, runner: Runner) -> None:
        """Learn how often the log has a line."""
        self._interval = log_interval(runner)
        self._steps = 0

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        """Log them, if a line is due."""
        self._steps += 1
        if not is_logged(runner, batch_idx, self._interval):
            return
        hub, steps, self._steps = runner.message_hub, self._steps, 0
        seconds = hub.get_scalar('train/time').mean(steps)
        waiting = hub.get_scalar('train/data_time').mean(steps)
        images = runner.train_dataloader.batch_size * runner.world_size
        hub.update_scalar('train/images_per_second', images / max(seconds, 1e-9))
        hub.update_scalar('train/data_wait', min(waiting / max(seconds, 1e-9), 1.0))
