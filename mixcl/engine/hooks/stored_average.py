"""Average of the weights that is stored in checkpoints, but not evaluated."""

from typing import Any

from mmengine.hooks import EMAHook
from mmengine.runner import Runner

from mixcl.registry import HOOKS


@HOOKS.register_module()
class StoredAverageHook(EMAHook):
    """Like mmengine's ``EMAHook``, but the trained weights, not their average, are validated and saved as the model.

    The checkpoint holds the average as ``ema_state_dict``, as in DeiT's and PatchMix's fine-tuning. Arguments same as
    ``EMAHook``, for example ``momentum=4e-5`` for a decay of .99996.
    """

    def after_train_iter(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        """Update the average once per optimiser step, not per batch."""
        if runner.optim_wrapper.should_update():
            super().after_train_iter(runner, *args, **kwargs)

    def _swap_ema_parameters(self) -> None:
        """Do nothing: the trained weights are evaluated."""

    def _swap_ema_state_dict(self, checkpoint: dict) -> None:
        """Do nothing: each part of the checkpoint keeps its own weights."""
