"""What happens when a detector's loss or gradient is not finite."""

from torch import nn

from mixcl.engine import NonFiniteHook
from mixcl.registry import HOOKS


@HOOKS.register_module()
class DetectorNonFiniteHook(NonFiniteHook):
    """``NonFiniteHook`` for the losses of mmdet's heads, of which some are lists: one loss per level of the pyramid.

    Arguments as of :class:`~mixcl.engine.hooks.health.NonFiniteHook`.
    """

    def _see_losses(self, model: nn.Module, inputs: tuple, outputs: object) -> None:
        if isinstance(outputs, dict):
            outputs = {
                name: sum(level.mean() for level in value) if isinstance(value, list) else value
                for name, value in outputs.items()
            }
        super()._see_losses(model, inputs, outputs)
