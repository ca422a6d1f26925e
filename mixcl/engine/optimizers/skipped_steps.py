"""Steps that change nothing, because something was not finite."""

from torch import Tensor
from torch.optim import Optimizer

from mixcl.engine.optimizers.lars import MoCoLARS


def skips_on_device(optimizer: Optimizer) -> bool:
    """Whether an optimiser leaves all as it is where its ``found_inf``, a scalar on the device, is 1.

    LARS does, and so do torch's fused optimisers, but for the first step: SGD would keep a buffer that is not filled.
    """
    fused = all(group.get('fused') for group in optimizer.param_groups)
    return isinstance(optimizer, MoCoLARS) or (fused and len(optimizer.state) > 0)


class TakenStep:
    """Watches an optimiser for steps that a loss scaler or :class:`~mixcl.engine.NonFiniteHook` refuses.

    Such steps never reach it, or find no gradients, or the device decides by ``found_inf``, for which nobody waits.

    Args:
        optimizer: to watch.

    Attributes:
        taken: whether the last step since :meth:`forget` was; a float32 scalar of 0 or 1 where the device decides.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.taken: bool | Tensor = False
        optimizer.register_step_post_hook(self._note)

    def forget(self) -> None:
        """Begin to wait for the next step, which may never be made."""
        self.taken = False

    def _note(self, optimizer: Optimizer, *_: object) -> None:
        found_inf = getattr(optimizer, 'found_inf', None)
        if found_inf is None:
            self.taken = any(p.grad is not None for group in optimizer.param_groups for p in group['params'])
        else:
            self.taken = (found_inf == 0).float()
