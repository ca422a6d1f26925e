"""Whether the representation is healthy, in the pretraining log."""

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from mixcl.distributed import unwrapped
from mixcl.engine.hooks.health.deferred_log import is_logged, log_interval
from mixcl.engine.hooks.health.first_term import FirstTerm, FirstTermListener, mean_of_valid
from mixcl.evaluation.functional.quality import effective_rank, uniformity
from mixcl.losses import InfoNCE, NegativeCosine
from mixcl.registry import HOOKS

ROWS = 512


@HOOKS.register_module()
class RepresentationHook(Hook):
    """Logs the quality of the representation at every step that the log shows, so that a collapse is seen early.

    Of the first term of the model, with what the step has computed anyway (``feature_std`` is logged by the model):

    - ``alignment``: mean squared distance of a query to its keys, weighted by the target;
    - ``query_uniformity`` and ``key_uniformity``: of the heads' outputs, see
      :func:`~mixcl.evaluation.functional.quality.uniformity`; 0 when they collapse to a point;
    - ``effective_rank`` of the features that go into the projector, see
      :func:`~mixcl.evaluation.functional.quality.effective_rank`; near 1 when they collapse.

    The first three are of unit vectors, and logged for objectives that compare such (not for DINO). Uniformity and
    rank use at most the first 512 rows. Nothing is computed at other steps, no random number is drawn and no gradient
    touched: training is the same to the bit with and without. It does nothing for a model without an objective.
    """

    # Normal priority: before HealthHook looks at the rank, and before the logger.

    def before_train(self, runner: Runner) -> None:
        """Find out which steps the log shows."""
        self._interval = log_interval(runner)
        self._first_term = FirstTermListener(unwrapped(runner.model))

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        """Listen to this step if it will be logged."""
        if is_logged(runner, batch_idx, self._interval):
            self._first_term.listen()

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        """Hand the measures of this step to the log."""
        term = self._first_term.heard
        if term is None or not is_logged(runner, batch_idx, self._interval):
            return
        for name, value in measures(term, self._first_term.features).items():
            runner.message_hub.update_scalar(f'train/{name}', value)


@torch.no_grad()
def measures(term: FirstTerm, features: Tensor) -> dict[str, Tensor]:
    """The values that :class:`RepresentationHook` logs, scalars on the device of the features."""
    values = dict(effective_rank=effective_rank(features[:ROWS]))
    if not isinstance(term.objective, (InfoNCE, NegativeCosine)):
        return values
    queries, keys, target = term.queries.float(), term.keys.float(), term.target
    # Of unit vectors; shares sum to 1: sum_t Y_t |q - k_t|^2 = 2 - 2 sum_t Y_t q . k_t.
    distances = 2 - 2 * target.pick(queries @ keys.T)
    return values | dict(
        alignment=mean_of_valid(distances, target),
        query_uniformity=uniformity(queries[:ROWS]),
        key_uniformity=uniformity(keys[:ROWS]),
    )
