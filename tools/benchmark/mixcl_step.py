"""The training step of a config as tools/train.py takes it, with all hooks: mixcl's side of tools/benchmark/step.py.

It is a program of its own: ``mixcl_step.py CONFIG WORK_DIR``, with the config that step.py has written. It
repeats one batch. For every line ``N`` on the standard input it takes N steps and prints their seconds by phase.
"""

import copy

from mixcl.starting import begin

begin(__name__)

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TextIO

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.hooks import HealthHook, OnlineProbe
from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.prepared import prepared

VIEWS, LOSSES, FORWARD, BACKWARD = 'views', 'mixing, targets, losses', 'forward', 'backward'
UPDATE, HOOKS = 'optimiser, EMA', 'hooks, log, loop'
PROBE, READINGS = 'online probe', 'ranks and other readings'
"""Phases of their own if the config has the online probe, to know its cost."""


class Stopwatch:
    """Seconds by phase; the time of a phase within another one counts only for the inner one."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, str]] = []
        self.phase = HOOKS

    def enter(self, phase: str) -> str:
        """Begin a phase; return the one before."""
        before, self.phase = self.phase, phase
        self.marks.append((time.perf_counter(), phase))
        return before

    def wrap(self, owner: Any, name: str, phase: str) -> None:
        """Count the calls of a method as a phase."""
        method = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            before = self.enter(phase)
            try:
                return method(*args, **kwargs)
            finally:
                self.enter(before)

        setattr(owner, name, timed)

    def read(self) -> dict[str, float]:
        """Return the seconds by phase since the last call."""
        self.enter(HOOKS)
        totals: dict[str, float] = defaultdict(float)
        for (start, phase), (end, _) in pairwise(self.marks):
            totals[phase] += end - start
        self.marks = self.marks[-1:]
        return dict(totals)


class OneBatch:
    """A loader that repeats its first batch forever."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[dict]:
        batch = next(iter(self.loader))
        while True:
            yield batch


class StepsOnDemand(Hook):
    """Hook that takes as many steps as each line of the standard input asks for, and answers with their time."""

    priority = 'LOWEST'

    def __init__(self, watch: Stopwatch, answers: TextIO) -> None:
        self.watch = watch
        self.answers = answers
        self.left = 0

    def before_run(self, runner: Runner) -> None:
        # Schedules have wrapped the optimiser by now, and hooks have not yet been told that training begins.
        watch_parts(runner.model, runner.optim_wrapper, runner.hooks, self.watch)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        if self.left == 0:
            line = sys.stdin.readline()
            if not line:
                sys.exit()
            self.left = int(line)
            self.watch.read()

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        self.left -= 1
        if self.left == 0:
            phases = self.watch.read()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            answer = dict(seconds=sum(phases.values()), peak=peak, phases=phases)
            print(json.dumps(answer), file=self.answers, flush=True)


def watch_parts(model: Any, optimizer: Any, hooks: Sequence[Hook], watch: Any) -> None:
    """Count every part of the step as its phase: ``watch.wrap(owner, method, phase)``."""
    parts: list[tuple[Any, str, str]] = [(model.data_preprocessor, 'forward', VIEWS), (model, 'loss', LOSSES)]
    parts += [(part, 'forward', FORWARD) for part in (model.backbone, model.neck, model.predictor)]
    parts += [(model.target, 'keys', FORWARD), (model, 'end_step', UPDATE)]
    parts += [(optimizer, 'backward', BACKWARD), (optimizer, 'step', UPDATE), (optimizer, 'zero_grad', UPDATE)]
    probes = [hook for hook in hooks if isinstance(hook, OnlineProbe)]
    parts += [(hook, 'after_train_iter', PROBE) for hook in probes]
    parts += [(hook, 'after_train_iter', READINGS) for hook in hooks if probes and isinstance(hook, HealthHook)]
    for part in parts:
        watch.wrap(*part)


def main() -> None:
    config, work_dir = sys.argv[1:]
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # the log goes to the standard error
    cfg = copy.deepcopy(prepared(config))
    cfg.work_dir = work_dir
    runner = build_runner(cfg)
    loop: Any = runner.train_loop
    loop.dataloader = OneBatch(loop.dataloader)
    runner.register_hook(StepsOnDemand(Stopwatch(), answers))
    runner.train()


if __name__ == '__main__':
    main()
