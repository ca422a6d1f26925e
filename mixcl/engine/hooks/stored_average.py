"""An average of the weights that is kept beside a run and stored, but not evaluated."""

from typing import Any

from mmengine.hooks import EMAHook
from mmengine.runner import Runner

from mixcl.registry import HOOKS


@HOOKS.register_module()
class StoredAverageHook(EMAHook):
    """mmengine's ``EMAHook`` that leaves validation and checkpoints to the weights as they were trained.

    The average lies in the checkpoint as ``ema_state_dict``, as in DeiT's and PatchMix's fine-tuning. Arguments same as
    ``EMAHook``, for example ``momentum=4e-5`` for a decay of .99996.
    """

    def after_train_iter(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        """Once per step of the optimiser, of however many batches."""
        if runner.optim_wrapper.should_update():
            super().after_train_iter(runner, *args, **kwargs)

    def _swap_ema_parameters(self) -> None:
        """The trained weights are evaluated."""

    def _swap_ema_state_dict(self, checkpoint: dict) -> None:
        """Each part of the checkpoint keeps its own weights."""
