"""Checkpoints of runs whose states are spread over the processes: whole, like those of any other run."""

from collections.abc import Callable

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper
from mmengine.runner import Runner
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer

from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, sharded_like
from mixcl.registry import HOOKS


@HOOKS.register_module()
class ShardedStatesHook(Hook):
    """Collects whole weights and optimiser states before a checkpoint is written, and shares out those read.

    A checkpoint is the same file as that of a run on one process, and either kind of run continues from it.
    :func:`~mixcl.engine.runners.launch.build_runner` adds the hook where the model is a
    :class:`~mixcl.engine.runners.sharding.MMFullyShardedDataParallel`.
    """

    def before_run(self, runner: Runner) -> None:
        """Step in between the Runner and its files."""
        if not isinstance(runner.optim_wrapper, OptimWrapper):  # an evaluation
            return
        states = _WholeStates(runner.model, runner.optim_wrapper.optimizer)
        # The Runner's method runs on the first process only, and the others must hand in their shares.
        runner.save_checkpoint = states.collected_before(runner.save_checkpoint)


class _WholeStates:
    def __init__(self, model: MMFullyShardedDataParallel, optimizer: Optimizer) -> None:
        self.model = model
        self.optimizer = optimizer
        self.optimizer_state: dict | None = None
        optimizer.register_state_dict_post_hook(self._hand_out)
        optimizer.register_load_state_dict_pre_hook(_share_out)

    def collected_before(self, save: Callable[..., None]) -> Callable[..., None]:
        def save_whole(*args, **kwargs) -> None:
            weights = _whole(self.model.module.state_dict())
            states = _whole(self.optimizer.state_dict())
            if is_main_process():
                self.model.hand_out(weights)
                self.optimizer_state = states
            save(*args, **kwargs)

        return save_whole

    def _hand_out(self, optimizer: Optimizer, state: dict) -> dict:
        whole, self.optimizer_state = self.optimizer_state, None
        return state if whole is None else whole


def _share_out(optimizer: Optimizer, state: dict) -> dict:
    parameters = [parameter for group in optimizer.param_groups for parameter in group['params']]
    numbers = [number for group in state['param_groups'] for number in group['params']]
    shared = dict(state['state'])
    for number, parameter in zip(numbers, parameters, strict=True):
        if number in shared:
            shared[number] = {
                name: sharded_like(value, parameter) if isinstance(value, Tensor) else value
                for name, value in shared[number].items()
            }
    return {**state, 'state': shared}


def _whole(value: object) -> object:
    """The same with whole tensors, in main memory; all processes must ask together."""
    match value:
        case DTensor():
            return value.detach().full_tensor().cpu()
        case dict():
            return {name: _whole(part) for name, part in value.items()}
        case list() | tuple():
            return type(value)(_whole(part) for part in value)
    return value
