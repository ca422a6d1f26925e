"""Checkpoints that are whole, plain and exact."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from mmengine.dist import all_reduce, get_world_size, is_main_process
from mmengine.hooks import CheckpointHook as EngineCheckpointHook
from mmengine.runner import Runner

from mixcl.distributed import unwrapped
from mixcl.errors import UserError
from mixcl.files import UNFINISHED
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS
from mixcl.weights import WHOLE_FILES, make_plain, non_finite, restore_history, training_state


@HOOKS.register_module()
class CheckpointHook(EngineCheckpointHook):
    """mmengine's hook, with checkpoints that survive crashes and full disks.

    - A file appears whole or not at all, with its SHA-256 beside it. Only then is the oldest removed; ``save_best``
      removes the previous best before.
    - Files hold tensors and plain values only: stock ``torch.load(weights_only=True)`` reads them.
    - While gradients accumulate, which no file holds, the hook waits for the next optimiser step.
    - Weights or optimiser states that are not finite are never written; the run ends instead.
    - One that a validation follows is written again after it, so that it holds what was measured.
    - A run that a hook ends early (``stop_training`` of the loop) is saved.
    - On a full disk the old files stay. The run goes on with an error in the log, or fails if it was about to end.

    Arguments same as mmengine's ``CheckpointHook``; with ``by_epoch=False`` it writes within epochs.

    Raises:
        UserError: for ``out_dir`` or ``filename_tmpl``, since a resumed run would not find its files.
    """

    backend_args: dict | None
    last_ckpt: Any
    best_ckpt_path: Any
    best_ckpt_path_dict: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.out_dir or self.filename_tmpl not in ('epoch_{}.pth', 'iter_{}.pth'):
            raise UserError(
                'checkpoints are WORK_DIR/epoch_N.pth; leave out_dir and filename_tmpl out, and set work_dir'
            )
        if self.backend_args is None and self.file_client_args is None:
            self.backend_args = dict(backend=WHOLE_FILES)
        self._kept = self.max_keep_ckpts
        if self._kept > 0:
            self.max_keep_ckpts += 1  # mmengine removes before it writes; here the oldest goes after the write
        self._postponed: int | str | None = None
        self._last: tuple[int | str, dict] | None = None  # step and meta of the newest file

    def before_train(self, runner: Runner) -> None:
        super().before_train(runner)
        self._begun = runner.iter
        if self.save_best and isinstance(getattr(self, 'best_ckpt_path', None), str):  # may lie in another run's folder
            self.best_ckpt_path = self._here(self.best_ckpt_path)
        for name, path in getattr(self, 'best_ckpt_path_dict', {}).items():
            self.best_ckpt_path_dict[name] = path and self._here(path)
        if is_main_process():
            for path in Path(self.out_dir).glob(f'*.pth*{UNFINISHED}'):
                path.unlink()

    def _here(self, path: str) -> str:
        """Return the path of a file of that name in the folder of this run."""
        return self.file_backend.join_path(self.out_dir, Path(path).name)

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        super().after_train_iter(runner, batch_idx, **kwargs)
        if self._postponed is not None and runner.optim_wrapper.should_update():
            self._save_checkpoint_with_step(runner, self._postponed, dict(epoch=runner.epoch, iter=runner.iter + 1))

    def save_now(self, runner: Runner) -> str:
        """Save between two steps, unless that is done; return the path of the newest checkpoint.

        Raises:
            UserError: if it cannot be written, or the weights are not finite.
        """
        if not self._is_saved(runner):
            step = f'{runner.epoch}_iter_{runner.iter}' if self.by_epoch else runner.iter
            self._save_checkpoint_with_step(runner, step, dict(epoch=runner.epoch, iter=runner.iter), last=True)
        return self.last_ckpt

    def after_val(self, runner: Runner) -> None:
        # The file of this step lacks what was just measured.
        if self._last and self._is_saved(runner):
            self._save_checkpoint_with_step(runner, *self._last)

    def after_train(self, runner: Runner) -> None:
        super().after_train(runner)
        if getattr(runner.train_loop, 'stop_training', False) and self._begun < runner.iter < runner.max_iters:
            self.save_now(runner)
            message = f'a hook ended the training after step {runner.iter} of {runner.max_iters}'
            runner.logger.info(f'{message}: everything is saved in {self.last_ckpt}', extra=FOR_PEOPLE)

    def _is_saved(self, runner: Runner) -> bool:
        return self._last is not None and self._last[1]['iter'] == runner.iter

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        steps = len(runner.train_loop.dataloader)
        checkpoint['meta'].update(written=time.time(), steps_per_epoch=steps, world_size=get_world_size())
        if is_main_process() and hasattr(runner.train_loop, 'images'):  # a loop of mixcl
            checkpoint['meta'].update(images=runner.train_loop.images)
        make_plain(checkpoint)

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        restore_history(checkpoint)
        # torch takes all options of an optimiser from the file, but whether it is fused is this run's choice.
        if getattr(runner, '_resume', False) and hasattr(runner.optim_wrapper, 'optimizer'):
            groups = checkpoint.get('optimizer', {}).get('param_groups', ())
            for group, built in zip(groups, runner.optim_wrapper.optimizer.param_groups, strict=False):
                group |= {'fused': built['fused']} if 'fused' in built else {}

    def _save_checkpoint_with_step(self, runner: Runner, step: int | str, meta: dict, last: bool = False) -> None:
        if not runner.optim_wrapper.should_update():
            self._postponed = step
            return
        self._postponed = None
        _refuse_non_finite(runner, meta['iter'])
        self._last = None
        is_new = self._kept > 0 and step not in self.keep_ckpt_ids
        with self._reporting_failed_write(runner, meta['iter'], last or meta['iter'] == runner.max_iters):
            super()._save_checkpoint_with_step(runner, step, meta)
            self._last = step, meta
        written = torch.tensor(self._last is not None, dtype=torch.int)
        all_reduce(written, op='min')  # only the main process writes
        self._last = self._last if written else None
        if is_new and self._last is None:
            self.keep_ckpt_ids.remove(step)  # it could not be written
        while self._kept > 0 and len(self.keep_ckpt_ids) > self._kept:
            path = self.file_backend.join_path(self.out_dir, self.filename_tmpl.format(self.keep_ckpt_ids.popleft()))
            if is_main_process() and self.file_backend.isfile(path):
                self.file_backend.remove(path)

    def _save_best_checkpoint(self, runner: Runner, metrics: dict) -> None:
        if self.save_best:
            _refuse_non_finite(runner, runner.iter)
            if missing := [name for name in self.key_indicators if name not in ('auto', *metrics)]:
                raise UserError(
                    f'save_best={missing[0]!r} is no measure of this run, which has {", ".join(sorted(metrics))}; a '
                    'kNN is named by the neighbours that it uses, no more than it has images to compare with'
                )
        with self._reporting_failed_write(runner, runner.iter, last=False):
            super()._save_best_checkpoint(runner, metrics)

    @contextmanager
    def _reporting_failed_write(self, runner: Runner, step: int, last: bool) -> Iterator[None]:
        """Report a checkpoint that cannot be written, which is fatal only for the last one."""
        try:
            yield
        except OSError as error:
            message = (
                f'the checkpoint of step {step} could not be written to {self.out_dir} ({error.strerror or error}); '
                'those before it are still there'
            )
            if last:
                problem = UserError(f'{message}: make room and resume the run')
                problem.on_one_process_only = True
                raise problem from error
            runner.logger.error(f'{message}, and the run goes on')


def _refuse_non_finite(runner: Runner, step: int) -> None:
    model = unwrapped(runner.model)
    names = non_finite(training_state(model, runner.optim_wrapper.optimizer))
    # Batch-norm statistics may be non-finite in one process only, and all must end.
    found = torch.tensor(len(names))
    all_reduce(found, op='max')
    if found:
        examples = ', '.join(names[:3]) or 'in another process'
        raise UserError(
            f'after step {step} weights are infinite or NaN ({examples}; {int(found)} tensors), so no checkpoint is '
            'written and those before it are still there; lower the learning rate or clip gradients, and resume it'
        )
