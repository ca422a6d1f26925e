"""DINO's way to a stable start: the last layer of the head stays as it is for the first epochs."""

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.distributed import unwrapped
from mixcl.registry import HOOKS


@HOOKS.register_module()
class FrozenPrototypesHook(Hook):
    """Drops the gradients of ``neck.prototypes`` before every optimiser step of the first epochs (DINO: 1)."""

    def __init__(self, epochs: int = 1) -> None:
        self.epochs = epochs

    def before_train(self, runner: Runner) -> None:
        frozen = list(unwrapped(runner.model).neck.prototypes.parameters())

        def drop_gradients(*_: object) -> None:
            if runner.epoch < self.epochs:
                for parameter in frozen:
                    parameter.grad = None

        runner.optim_wrapper.optimizer.register_step_pre_hook(drop_gradients)
