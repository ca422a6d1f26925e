"""Whether the representation is healthy, in the pretraining log."""

import torch
from mmengine.hooks import Hook, LoggerHook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.nn import functional

from mixcl.algorithms import ContrastiveLearner
from mixcl.algorithms.step_outputs import StepOutputs
from mixcl.evaluation.functional.quality import effective_rank, uniformity
from mixcl.registry import HOOKS

ROWS = 512


@HOOKS.register_module()
class RepresentationHook(Hook):
    """Logs the quality of the representation at every step that the log shows, so that a collapse is seen early.

    Of the first term of the model, on the batch of this process, with the outputs that the step has computed anyway
    (beside ``feature_std``, which the model logs itself):

    - ``alignment``: mean squared distance of a query to its keys, weighted by the target;
    - ``query_uniformity`` and ``key_uniformity``: of the heads' outputs, see
      :func:`~mixcl.evaluation.functional.quality.uniformity`; 0 when they collapse to a point;
    - ``effective_rank`` of the backbone's features, see
      :func:`~mixcl.evaluation.functional.quality.effective_rank`; near 1 when they collapse.

    Uniformity and rank use at most the first 512 rows. Nothing is computed at other steps, no random number is drawn
    and no gradient touched: training is the same to the bit with and without. Without a ``LoggerHook``, or where the
    model is not a ContrastiveLearner, it does nothing.

    Priority: normal, before the LoggerHook.
    """

    def __init__(self) -> None:
        self.interval: int | None = None
        self._outputs: StepOutputs | None = None

    def before_train(self, runner: Runner) -> None:
        """Find out which steps the log shows."""
        intervals = [hook.interval for hook in runner.hooks if isinstance(hook, LoggerHook)]
        self.interval = intervals[0] if intervals and isinstance(_model(runner), ContrastiveLearner) else None

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        """Ask the model for its outputs, where the log will show this step."""
        if self._is_shown(runner, batch_idx):
            _model(runner).observers.append(self._keep)

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        """Hand the measures of this step to the log."""
        if not self._is_shown(runner, batch_idx):
            return
        _model(runner).observers.remove(self._keep)
        for name, value in measures(self._outputs).items():
            runner.message_hub.update_scalar(f'train/{name}', value)
        self._outputs = None

    def _keep(self, outputs: StepOutputs) -> None:
        self._outputs = outputs

    def _is_shown(self, runner: Runner, batch_idx: int) -> bool:
        if self.interval is None:
            return False
        last = self.end_of_epoch(runner.train_dataloader, batch_idx)
        return last or self.every_n_inner_iters(batch_idx, self.interval)


@torch.no_grad()
def measures(outputs: StepOutputs) -> dict[str, Tensor]:
    """The values that :class:`RepresentationHook` logs, scalars on the device of the outputs."""
    queries, keys = (functional.normalize(rows.float(), dim=1) for rows in (outputs.queries, outputs.keys))
    target = outputs.target
    # Of unit vectors; shares sum to 1: sum_t Y_t |q - k_t|^2 = 2 - 2 q . sum_t Y_t k_t.
    distances = 2 - 2 * (queries * target.expect(keys)).sum(dim=1)
    return dict(
        alignment=distances.where(target.valid, 0).sum() / target.valid.sum(),
        query_uniformity=uniformity(queries[:ROWS]),
        key_uniformity=uniformity(keys[:ROWS]),
        effective_rank=effective_rank(outputs.features[:ROWS]),
    )


def _model(runner: Runner) -> nn.Module:
    return runner.model.module if is_model_wrapper(runner.model) else runner.model
