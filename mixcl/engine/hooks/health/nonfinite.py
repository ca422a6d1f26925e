"""Handling of losses and gradients that are not finite."""

import json
from pathlib import Path
from typing import Any

import torch
from mmengine.dist import all_reduce, get_rank, get_world_size
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from mixcl.distributed import unwrapped, whole
from mixcl.engine.hooks.health.step_log import is_logged
from mixcl.engine.optimizers.lars import skips_on_device
from mixcl.errors import UserError
from mixcl.files import written_whole
from mixcl.registry import HOOKS

POLICIES = ('raise', 'skip')
MOST_DUMPS = 5

Batch = dict[str, Any]
"""One batch of a step: its ``step``, its ``images``, and the ``losses`` by name, on the device."""


@HOOKS.register_module()
class NonFiniteHook(Hook):
    """Keeps steps whose loss or gradient is infinite or NaN from reaching the weights, on all processes alike.

    A refused step leaves weights, optimiser state, batch-norm statistics, queues, centres and the target encoder as
    they were; schedules go on. The message names the first term that failed. For the first failures, a dump names the
    images.

    With a fused optimiser or LARS, the device decides whether to take the step. The CPU reads the verdicts when a line
    of the log or a checkpoint is due; until then, policy 'raise' holds back all steps after a failure. With any other
    optimiser, the CPU waits for one number before each step.

    Under loss scaling (``AmpOptimWrapper``), the scaler handles gradients that are not finite; a failure is then a loss
    that is not finite, or a scale that has fallen below 1.

    Logs the norm of the gradient before clipping, ``train/gradient_norm``, and failures, ``train/nonfinite_steps``.

    Args:
        policy: 'raise' stops the run with an error; 'skip' goes on with the next step.
        max_failures: failures in a row after which the run stops whatever the policy; at least 1.
    """

    # Runs before the hook that logs the outputs of a step, since it adds the norm of the gradient to them.
    priority = 'HIGHEST'

    def __init__(self, policy: str = 'raise', max_failures: int = 10) -> None:
        if policy not in POLICIES:
            raise UserError(f'NonFiniteHook: policy must be one of {", ".join(POLICIES)}, not {policy!r}')
        self.policy = policy
        self.max_failures = max_failures
        self.failures = 0
        self._failures_in_a_row = 0
        self._batches: list[Batch] = []
        self._copies: list[Tensor] = []
        self._unread: list[tuple[list[Batch], Tensor]] = []
        self._gradient_norm: Tensor | None = None
        self._judged = False

    # ----- following a step -----

    def before_train(self, runner: Runner) -> None:
        self._runner = runner
        self._model = unwrapped(runner.model)
        self._optimizer: Any = runner.optim_wrapper.optimizer
        self._model.register_forward_hook(self._see_losses)
        self._optimizer.register_step_pre_hook(self._before_optimizer_step)

    def before_train_iter(self, runner: Runner, data_batch: dict, **kwargs: Any) -> None:
        if not self._batches:
            self._copy_buffers()
        self._batches.append(dict(step=runner.iter, images=image_names(data_batch), losses={}))
        self._judged = False

    def _see_losses(self, model: nn.Module, inputs: tuple, outputs: object) -> None:
        # Other code may call the model between steps, for example to estimate batch-norm statistics.
        if self._batches and model.training and isinstance(outputs, dict):
            with torch.no_grad():
                _, terms = self._model.parse_losses(outputs)
            self._batches[-1]['losses'] = {name: value for name, value in terms.items() if 'loss' in name}

    def _before_optimizer_step(self, optimizer: Any, *_: object) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group['params'] if p.grad is not None]
        norm = whole(get_total_norm(gradients))
        if not hasattr(optimizer, 'grad_scale'):
            unclipped = getattr(self._runner.optim_wrapper, 'norm_before_clipping', None)
            self._gradient_norm = norm if unclipped is None else whole(unclipped)
            self._judge(self._loss_failed() | ~norm.isfinite())
        else:  # a loss scaler leaves it to the optimiser to undo the scale and to skip overflow
            self._gradient_norm = norm if optimizer.grad_scale is None else norm / optimizer.grad_scale
            self._judge(self._loss_failed(), optimizer.found_inf)

    def after_train_iter(self, runner: Runner, batch_idx: int, outputs: dict | None = None, **kwargs: Any) -> None:
        if runner.optim_wrapper.should_update():
            if not self._judged:  # the loss scaler has skipped the step
                self._judge(self._loss_failed() | (runner.optim_wrapper.loss_scaler.get_scale() < 1))
            self._batches = []
            if outputs is not None and self._gradient_norm is not None:
                outputs['gradient_norm'] = self._gradient_norm
        if is_logged(runner, batch_idx):
            self._read_verdicts()

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        self._read_verdicts()  # so that no file claims steps that were held back

    # ----- the verdict on a step -----

    def _loss_failed(self) -> Tensor:
        return ~torch.stack([batch['losses']['loss'] for batch in self._batches if batch['losses']]).isfinite().all()

    def _judge(self, failed: Tensor, overflow: Tensor | None = None) -> None:
        self._judged = True
        verdict = failed.float()
        all_reduce(verdict, op='max')
        if self.policy == 'raise' and self._unread:
            verdict = torch.maximum(verdict, self._unread[-1][1])  # nothing moves until the failure has been read
        self._unread.append((self._batches, verdict))
        if skips_on_device(self._optimizer):
            self._restore_buffers_where(verdict > 0)
            self._optimizer.found_inf = verdict if overflow is None else torch.maximum(verdict, overflow)
        elif verdict.item():
            self._restore_buffers_where(verdict > 0)
            for parameter in self._model.parameters():
                parameter.grad = None  # an optimiser skips parameters without gradient
            self._read_verdicts()

    def _read_verdicts(self) -> None:
        unread, self._unread = self._unread, []
        verdicts = torch.stack([verdict for _, verdict in unread]).tolist() if unread else []
        for (batches, _), failed in zip(unread, verdicts, strict=True):
            if failed:
                self._act(batches)
            else:
                self._failures_in_a_row = 0

    def _act(self, batches: list[Batch]) -> None:
        self.failures += 1
        self._failures_in_a_row += 1
        self._runner.message_hub.update_scalar('train/nonfinite_steps', self.failures)
        terms = [name for batch in batches for name in broken_terms(batch['losses'])]
        first = f', first {terms[0]}' if terms else ''
        what = f'step {batches[-1]["step"]}: the loss or the gradient is not finite{first}'
        where = self._dumped(batches) if self.failures <= MOST_DUMPS else ''
        if self.policy == 'raise' or self._failures_in_a_row >= self.max_failures:
            count = '' if self.policy == 'raise' else f' (failure {self._failures_in_a_row} in a row)'
            raise UserError(
                f'{what}{count}; the step was not taken and no checkpoint was written. Lower the learning rate, train '
                f"in full precision, or skip such steps by NonFiniteHook's policy='skip'; resuming repeats them{where}"
            )
        self._runner.logger.warning(f'{what}; it is skipped on all processes (failure {self.failures}){where}')

    def _dumped(self, batches: list[Batch]) -> str:
        """Write the images and losses of a step to a file; return a phrase that says where."""
        step, rank, runner = batches[-1]['step'], get_rank(), self._runner
        path = Path(runner.work_dir, 'nonfinite', f'step_{step}_rank{rank}.json')
        place = dict(config=runner.cfg.filename, seed=runner.seed, step=step, rank=rank, world_size=get_world_size())
        for batch in batches:
            batch['losses'] = {name: loss.item() for name, loss in batch['losses'].items()}
        try:
            with written_whole(path) as file:
                file.write(json.dumps({**place, 'batches': batches}, indent=1).encode())
            return f'; its images are named in {path}'
        except OSError as error:  # a full disk must not end a run that can go on
            return f'; no dump of it could be written to {runner.work_dir} ({error.strerror or error})'

    # ----- buffers that a forward pass changes: statistics, queues, centres -----

    def _buffers(self) -> list[list[Tensor]]:
        """Group the buffers by device and dtype: a kernel for each of hundreds would be most of this hook's time."""
        groups: dict[tuple, list[Tensor]] = {}
        for buffer in self._model.buffers():
            groups.setdefault((buffer.device, buffer.dtype), []).append(buffer)
        return list(groups.values())

    @torch.no_grad()
    def _copy_buffers(self) -> None:
        self._copies = [_flat(buffers) for buffers in self._buffers()]

    @torch.no_grad()
    def _restore_buffers_where(self, condition: Tensor) -> None:
        for buffers, copy in zip(self._buffers(), self._copies, strict=True):
            kept = torch.where(condition.to(copy.device), copy, _flat(buffers)).split([b.numel() for b in buffers])
            torch._foreach_copy_(buffers, [part.view_as(b) for part, b in zip(kept, buffers, strict=True)])


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


def broken_terms(losses: dict[str, Tensor]) -> list[str]:
    """Return the names of the terms that are infinite or NaN, in the order of the model."""
    return [name for name, value in losses.items() if name != 'loss' and not value.isfinite()]


def image_names(data_batch: object) -> list[str]:
    """Return the files of a batch's images, or their indices in the data set if they have no file."""
    samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
    return [str(sample.get('img_path') or tuple(sample.get('sample_key', ('?',)))[-1]) for sample in samples or ()]
