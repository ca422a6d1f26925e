"""Whether an optimiser step was taken, or refused by a guard before it."""

from torch import Tensor
from torch.optim import Optimizer


class TakenStep:
    """Watches an optimiser for steps that change nothing.

    Such are the steps that a loss scaler or :class:`~mixcl.engine.NonFiniteHook` refuses because something is not
    finite. Without a fused optimiser they never reach it, or find no gradients; a fused one is called, and the device
    decides by ``found_inf``, for which nobody here waits.

    Args:
        optimizer: to watch.

    Attributes:
        taken: of the last step since :meth:`forget`; a float32 scalar of 0 or 1 on the device where that decides.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.taken: bool | Tensor = False
        optimizer.register_step_post_hook(self._note)

    def forget(self) -> None:
        """Begin to wait for the next step, which may never be made."""
        self.taken = False

    def _note(self, optimizer: Optimizer, *_: object) -> None:
        found_inf = getattr(optimizer, 'found_inf', None)
        if optimizer.defaults.get('fused') and found_inf is not None:
            self.taken = (found_inf == 0).float()
        else:
            self.taken = any(p.grad is not None for group in optimizer.param_groups for p in group['params'])
