"""Runs that are killed (SIGKILL) while they train."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner, read_config
from mixcl.weights import newest_checkpoint

# A forked process needs no imports of its own.
_fork = multiprocessing.get_context('fork')


class StepCounter(Hook):
    """Tells another process how many steps were taken since this one started."""

    def __init__(self, steps: Synchronized) -> None:
        self.steps = steps

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        self.steps.value += 1


def quiet_config(path: str | Path, overrides: dict, work_dir: Path) -> Config:
    """A run that resumes by itself, without evaluation and with little to say."""
    cfg = read_config(path, overrides)
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.work_dir, cfg.resume, cfg.log_level = str(work_dir), True, 'ERROR'
    return cfg


def run_and_kill(make_config: Callable[[], Config], ready: Callable[[int], bool]) -> bool:
    """Train in a process of its own, and kill it.

    Args:
        make_config: called in the process.
        ready: whether to kill it, asked again and again with the number of steps that it has taken.

    Returns:
        Whether it was killed before its end.

    Raises:
        RuntimeError: if it failed by itself.
    """
    steps = _fork.Value('i', 0)
    process = _fork.Process(target=_train, args=(make_config, steps))
    process.start()
    while process.is_alive() and not ready(steps.value):
        time.sleep(0.001)
    killed = process.is_alive()
    process.kill()
    process.join()
    if not killed and process.exitcode != 0:
        raise RuntimeError(f'the run failed with status {process.exitcode}')
    return killed


def newest_of(work_dir: Path) -> str:
    """The path of the newest whole checkpoint; raises RuntimeError if there is none."""
    path = newest_checkpoint(work_dir)
    if path is None:
        raise RuntimeError(f'no checkpoint was left in {work_dir}')
    return path


def _train(make_config: Callable[[], Config], steps: Synchronized) -> None:
    runner = build_runner(make_config())
    runner.register_hook(StepCounter(steps))
    runner.train()
