"""Train loops of pretraining, fine-tuning and detection: every step is a function of its key, and can be the last."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, NoReturn

from mmengine.dist import barrier, get_rank, get_world_size, is_main_process
from mmengine.runner import BaseLoop, EpochBasedTrainLoop, IterBasedTrainLoop, Runner
from torch import nn
from torch.utils.data import DataLoader

from mixcl.algorithms import StepKey
from mixcl.datasets import KeyedSampler
from mixcl.datasets.image_digest import image_digest, write_names
from mixcl.distributed import unwrapped
from mixcl.engine.hooks.checkpoint_hook import CheckpointHook
from mixcl.engine.runners.data_workers import NoBatch, kill_workers, shield_workers
from mixcl.engine.runners.stop_signals import AnyProcess, StopSignals
from mixcl.errors import RunStopped, UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import LOOPS


class KeyedSteps(BaseLoop):
    """Mixin that makes one of mmengine's train loops, the other base class, resume exactly and stop when asked to.

    - The global generators of every step start from (seed, step, rank): nothing depends on the run's history.
    - On SIGTERM, SIGINT, SIGUSR1, SIGHUP, or when its time is over, the run ends after the next optimiser step of all
      processes, with a checkpoint.

    Args:
        max_seconds: end the run, as a signal would, so many seconds after the loop was built.

    Attributes:
        around_step: context manager, set by hooks, that is entered around the model's part of a step.

    Raises:
        UserError: if the sampler is no ``KeyedSampler``, or the training set is smaller than a batch.
    """

    def __init__(
        self, runner: Runner, dataloader: DataLoader | dict, max_seconds: float | None = None, **kwargs: Any
    ) -> None:
        self.around_step: AbstractContextManager = nullcontext()
        self._end = float('inf') if max_seconds is None else time.monotonic() + max_seconds
        super().__init__(runner, dataloader, **kwargs)
        self._signals = StopSignals()
        # Here and not in run(): schedules are built in between, and fail if an epoch has no steps.
        self._check_data()
        shield_workers(self.dataloader, self._is_asked)

    def run(self) -> nn.Module:
        """Train, from where the checkpoint left off to the end.

        Raises:
            RunStopped: if the run was asked to end earlier; everything is then saved.
        """
        # A run that was started without a seed continues with the seed of its checkpoint.
        self._sampler.seed = self.runner.seed
        if is_main_process():
            write_names(self.runner.work_dir, self.dataloader.dataset)
        for name in ('dataloader', 'bank_dataloader'):
            if hasattr(self.runner.val_loop, name):
                shield_workers(getattr(self.runner.val_loop, name), self._is_asked)
        self._any_process, self._stopping = AnyProcess(), False
        with self._signals:
            try:
                model = super().run()
            except NoBatch as stuck:
                # Several processes cannot save: the others wait in the next step.
                if get_world_size() > 1 or not self.runner.optim_wrapper.should_update():
                    raise
                self._save_and_end(f'{stuck}; stopped')
        self._any_process.finish()
        return model

    def _train_step(self, idx: int, data_batch: dict) -> None:
        """Run one iteration, with the hooks before and after it."""
        key = StepKey(self.runner.seed, self.iter, get_rank())
        seed_global_generators(*key)
        self._begin_step(key)
        self.runner.call_hook('before_train_iter', batch_idx=idx, data_batch=data_batch)
        prepared = self._prepare(data_batch)
        with self.around_step:
            outputs = self.runner.model.train_step(prepared, optim_wrapper=self.runner.optim_wrapper)
        self._end_step()
        self._log(dict(weight_decay=max(group['weight_decay'] for group in self.runner.optim_wrapper.param_groups)))
        self.runner.call_hook('after_train_iter', batch_idx=idx, data_batch=data_batch, outputs=outputs)
        self._iter += 1

    def _begin_step(self, key: StepKey) -> None:
        """Do nothing; subclasses act here before every batch."""

    def _prepare(self, data_batch: dict) -> dict:
        """Return the batch that the model gets; subclasses may change it here."""
        return data_batch

    def _end_step(self) -> None:
        """Do nothing; subclasses act here after every batch, before any hook looks at the weights."""

    def _skip(self, steps: int) -> None:
        """Skip the first ``steps`` steps of the next pass over the data."""
        batches = self.dataloader.batch_sampler
        if hasattr(batches, 'start'):  # it groups images, and only it knows what a batch is
            batches.start = steps
        else:
            self._sampler.start = steps * self.dataloader.batch_size

    def _stop_if_asked(self) -> None:
        over = time.monotonic() > self._end
        # Also asked while stopping, since all processes must ask equally often.
        self._stopping |= self._any_process(over or self._is_asked())
        # Accumulated gradients are in no checkpoint.
        if not self._stopping or not self.runner.optim_wrapper.should_update():
            return
        reason = self._signals.received or ('the time limit' if over else 'a signal to another process')
        self._save_and_end(f'stopped by {reason}')

    def _is_asked(self) -> bool:
        return self._signals.received is not None

    def _save_and_end(self, why: str) -> NoReturn:
        saved = [hook.save_now(self.runner) for hook in self.runner.hooks if isinstance(hook, CheckpointHook)]
        self._any_process.finish()
        barrier()  # a process that ends earlier would take the others with it
        self.runner.call_hook('after_train')
        self.runner.call_hook('after_run')
        kill_workers()
        where = f'everything is saved in {saved[0]}' if saved else 'nothing is saved'
        raise RunStopped(f'{why} after step {self._iter} of {self._max_iters}: {where}')

    @cached_property
    def images(self) -> dict[str, int | str]:
        """Digest of the training images and labels, see :func:`~mixcl.datasets.image_digest.image_digest`."""
        return image_digest(self.dataloader.dataset, labelled=True)

    @property
    def _sampler(self) -> KeyedSampler:
        return self.dataloader.batch_sampler.sampler

    @property
    def _model(self) -> nn.Module:
        return unwrapped(self.runner.model)

    def _log(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.runner.message_hub.update_scalar(f'train/{name}', value)

    def _check_data(self) -> None:
        if not isinstance(self._sampler, KeyedSampler):
            raise UserError(
                f'train_dataloader.sampler is a {type(self._sampler).__name__}, with which every epoch would '
                "see the same views; use sampler=dict(type='KeyedSampler')"
            )
        if len(self.dataloader) == 0:
            raise UserError(
                f'the training set has {len(self.dataloader.dataset)} images, fewer than one batch of '
                f'{self.dataloader.batch_sampler.batch_size} per process; lower batch (or at_once)'
            )


@LOOPS.register_module()
class KeyedTrainLoop(KeyedSteps, EpochBasedTrainLoop):
    """Epoch-based training of any model, such as a classifier, that resumes exactly; see :class:`KeyedSteps`."""

    def run_epoch(self) -> None:
        self.runner.call_hook('before_train_epoch')
        self._stop_if_asked()
        self.runner.model.train()
        done = self._iter - self._epoch * len(self.dataloader)
        self._skip(done)
        for idx, data_batch in enumerate(self.dataloader, start=done):
            self._train_step(idx, data_batch)
            self._stop_if_asked()
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1


@LOOPS.register_module()
class KeyedIterTrainLoop(KeyedSteps, IterBasedTrainLoop):
    """Step-based training of any model, such as a detector, that resumes exactly; see :class:`KeyedSteps`.

    It passes over the data again and again, in a new order each time; a batch never spans two passes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dataloader_iterator = self
        self._batches = self._remaining()

    def run_iter(self, data_batch: dict) -> None:
        # Here and not after the step, so that a due validation comes first.
        self._stop_if_asked()
        self._train_step(self._iter, data_batch)

    def skip_iter(self, steps: int) -> None:
        """Do nothing: the iterator begins at the step of a resumed run; mmengine's loads every batch before it."""

    def __next__(self) -> dict:
        return next(self._batches)

    def _remaining(self) -> Iterator[dict]:
        """Yield the batches left in the pass that the next step is in, then pass after pass."""
        passes, done = divmod(self._iter, len(self.dataloader))
        while True:
            self._sampler.set_epoch(passes)
            self._skip(done)
            yield from self.dataloader
            passes, done = passes + 1, 0
