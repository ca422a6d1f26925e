"""What happens when a loss or a gradient is not finite."""

from collections import deque

import torch
from mmengine.dist import all_reduce, get_world_size
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.optim import Optimizer

from mixcl.algorithms import ContrastiveLearner
from mixcl.engine.hooks.health.dump import BatchRecord, record_batch, write_dump
from mixcl.engine.hooks.health.gradients import total_norm
from mixcl.engine.hooks.health.snapshot import BufferCopy, Snapshot
from mixcl.errors import UserError
from mixcl.registry import HOOKS
from mixcl.weights import non_finite

POLICIES = ('raise', 'skip', 'rollback')
LOSSES_KEPT = 20
MOST_DUMPS = 5


class NonFiniteStep(UserError):
    """The loss or the gradient of a step was not finite, and the policy is to stop."""


@HOOKS.register_module()
class NonFiniteHook(Hook):
    """Keeps steps whose loss or gradient is infinite or NaN from reaching the weights, on all processes alike.

    The decision is made before the optimiser step, on the sum of what all processes found, so that either all take the
    step or none. A refused step leaves weights, optimiser state, batch-norm statistics, queues, centres and the target
    encoder as they were; schedules (also that of the target's momentum) go on, since they count steps of the run. Of
    the first failures a dump is written; ``tools/replay_step.py`` replays those of pretraining.

    Under loss scaling (``AmpOptimWrapper``), gradients that are not finite are the scaler's business, which skips the
    step and lowers its scale; a failure is then a loss that is not finite, or a scale that has fallen below 1.

    An optimiser with ``fused=True`` asks the device itself whether to take the step, and the processor reads the
    verdicts of ``interval`` steps at once; with any other optimiser it waits for one number before each step.

    Logs the norm of the gradient as ``train/gradient_norm`` and, once there was one, the failures as
    ``train/nonfinite_steps``.

    Args:
        policy: 'raise' stops the run with a sentence; 'skip' goes on with the next step; 'rollback' goes back to the
            weights and the optimiser state of the last snapshot and on with the next batch.
        max_failures: failures in a row (with 'rollback': since the last new snapshot) after which the run stops
            whatever the policy; at least 1.
        snapshot_interval: steps between the snapshots that 'rollback' keeps in main memory; at least 1.
        interval: steps between readings with a fused optimiser; at least 1.

    Raises:
        UserError: for values out of range.
    """

    # Before the hook that logs the outputs of a step, to which the norm of the gradient is added.
    priority = 'HIGHEST'

    def __init__(
        self, policy: str = 'raise', max_failures: int = 10, snapshot_interval: int = 1000, interval: int = 10
    ) -> None:
        if policy not in POLICIES:
            raise UserError(f'NonFiniteHook: policy must be one of {", ".join(POLICIES)}, not {policy!r}')
        for name, value in dict(
            max_failures=max_failures, snapshot_interval=snapshot_interval, interval=interval
        ).items():
            if value < 1:
                raise UserError(f'NonFiniteHook: {name} must be at least 1, not {value!r}')
        self.policy = policy
        self.max_failures = max_failures
        self.snapshot_interval = snapshot_interval
        self.interval = interval
        self.failures = 0
        self._recent_failures = 0
        self._batches: list[BatchRecord] = []
        self._losses: deque[Tensor] = deque(maxlen=LOSSES_KEPT)
        self._unread: list[tuple[list[BatchRecord], Tensor]] = []
        self._stuck: Tensor | None = None
        self._loss_failed: Tensor | None = None
        self._gradient_norm: Tensor | None = None
        self._judged = False
        self._snapshot: Snapshot | None = None

    # ----- following a step -----

    def before_train(self, runner: Runner) -> None:
        """Be told of every loss and asked before every optimiser step from now on."""
        self._runner = runner
        self._model: nn.Module = runner.model.module if is_model_wrapper(runner.model) else runner.model
        self._optimizer: Optimizer = runner.optim_wrapper.optimizer
        self._deferred = bool(self._optimizer.defaults.get('fused'))
        self._buffers = BufferCopy(self._model)
        self._model.register_forward_hook(self._see_losses)
        self._optimizer.register_step_pre_hook(self._before_optimizer_step)
        if self.policy == 'rollback':
            self._snapshot = Snapshot(self._model, self._optimizer, runner.iter)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        """Note what the step sees, and what the forward pass will change."""
        if not self._batches:
            self._buffers.save()
        self._batches.append(record_batch(runner, batch_idx, data_batch))
        self._judged = False

    def _see_losses(self, model: nn.Module, inputs: tuple, outputs: object) -> None:
        if not (model.training and isinstance(outputs, dict)):
            return
        loss = sum(value.detach().float().mean() for name, value in outputs.items() if 'loss' in name)
        self._losses.append(loss)
        failed = ~torch.isfinite(loss)
        self._loss_failed = failed if self._loss_failed is None else self._loss_failed | failed

    def _before_optimizer_step(self, optimizer: Optimizer, *_: object) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group['params'] if p.grad is not None]
        self._gradient_norm = total_norm(gradients)
        scaled = getattr(optimizer, 'found_inf', None) if self._scaler() is not None else None
        failed = self._loss_failed if scaled is not None else self._loss_failed | ~self._gradient_norm.isfinite()
        self._judge(failed, scaled)

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        """Log, and look at the steps that nobody was asked about because the loss scaler skipped them."""
        if not runner.optim_wrapper.should_update():
            return
        if not self._judged:
            self._judge(self._loss_failed | (self._scaler().get_scale() < 1), None)
        self._batches, self._loss_failed = [], None
        if outputs is not None and self._gradient_norm is not None:
            outputs['gradient_norm'] = self._gradient_norm
        self._renew_snapshot(runner)

    def after_train_epoch(self, runner: Runner) -> None:
        """Read what was not read yet."""
        self._read_verdicts()

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Read what was not read yet, so that no file claims steps that were held back."""
        self._read_verdicts()

    # ----- the verdict on a step -----

    def _judge(self, failed: Tensor, scaled: Tensor | None) -> None:
        self._judged = True
        verdict = failed.float().reshape(1)
        if get_world_size() > 1:
            all_reduce(verdict, op='max')
        if self._deferred:
            self._hand_to_optimizer(verdict, scaled)
            return
        if bool(verdict):
            names = self._non_finite_gradients()
            for parameter in self._model.parameters():
                parameter.grad = None  # an optimiser passes over parameters without gradient
            self._buffers.restore_where(verdict[0] > 0)
            self._act(self._batches, names)
        else:
            self._note_good_step()

    def _hand_to_optimizer(self, verdict: Tensor, scaled: Tensor | None) -> None:
        if self._stuck is not None and self.policy != 'skip':
            verdict = torch.maximum(verdict, self._stuck)  # nothing moves until the failure has been read
        self._stuck = verdict
        self._buffers.restore_where(verdict[0] > 0)
        self._optimizer.found_inf = verdict[0] if scaled is None else torch.maximum(verdict[0], scaled)
        self._unread.append((self._batches, verdict))
        if len(self._unread) >= self.interval:
            self._read_verdicts()

    def _read_verdicts(self) -> None:
        unread, self._unread = self._unread, []
        verdicts = torch.cat([verdict for _, verdict in unread]).tolist() if unread else []
        for (batches, _), failed in zip(unread, verdicts, strict=True):
            if not failed:
                self._note_good_step()
                continue
            self._act(batches, [])
            if self.policy != 'skip':  # the steps after it were held back and say nothing
                self._stuck = None
                return

    def _act(self, batches: list[BatchRecord], gradients: list[str]) -> None:
        self.failures += 1
        self._recent_failures += 1
        self._runner.message_hub.update_scalar('train/nonfinite_steps', self.failures)
        step, logger = batches[-1].step, self._runner.logger
        what = f'step {step}: the loss or the gradient is not finite'
        where = ''
        if self.failures <= MOST_DUMPS:
            where = self._dumped(batches, gradients)
        if self.policy == 'raise' or self._recent_failures >= self.max_failures:
            number = f' (failure {self._recent_failures} of at most {self.max_failures})'
            count = '' if self.policy == 'raise' else number
            raise NonFiniteStep(
                f'{what}{count}; the weights before the step are kept and no checkpoint was written; lower the '
                f"learning rate, train in full precision, or skip such steps by NonFiniteHook's policy='skip'{where}"
            )
        if self.policy == 'rollback':
            self._snapshot.restore()
            logger.warning(
                f'{what}; back to the weights of step {self._snapshot.step} (failure {self.failures}){where}'
            )
        else:
            logger.warning(f'{what}; it is skipped on all processes (failure {self.failures}){where}')

    def _dumped(self, batches: list[BatchRecord], gradients: list[str]) -> str:
        try:
            path = write_dump(self._runner, batches, torch.stack(list(self._losses)).tolist(), gradients)
        except OSError as error:  # a full disk must not end a run that can go on
            return f'; no dump of it could be written to {self._runner.work_dir} ({error.strerror or error})'
        if not isinstance(self._model, ContrastiveLearner):
            return f'; what it was made of is written to {path}'
        return f'; replay it with tools/replay_step.py {path}'

    def _note_good_step(self) -> None:
        if self.policy != 'rollback':  # which counts until the next snapshot
            self._recent_failures = 0

    def _renew_snapshot(self, runner: Runner) -> None:
        if self._snapshot is None or runner.iter + 1 < self._snapshot.step + self.snapshot_interval:
            return
        self._read_verdicts()
        self._snapshot = Snapshot(self._model, self._optimizer, runner.iter + 1)
        self._recent_failures = 0

    def _non_finite_gradients(self) -> list[str]:
        return non_finite({name: p.grad for name, p in self._model.named_parameters() if p.grad is not None})

    def _scaler(self) -> torch.amp.GradScaler | None:
        return getattr(self._runner.optim_wrapper, 'loss_scaler', None)
