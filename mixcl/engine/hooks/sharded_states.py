"""Whole checkpoints of a run whose weights and optimiser states are spread over the processes."""

from typing import Any

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor
from torch.utils._pytree import tree_map_only

from mixcl.distributed import whole
from mixcl.engine.runners.sharding import share_of
from mixcl.registry import HOOKS


@HOOKS.register_module()
class ShardedStatesHook(Hook):
    """Gathers whole weights and optimiser states before a checkpoint is written, and shards those that are read.

    The checkpoint is the same file as that of a run on one process, and either kind of run continues from it. (torch's
    functions for this key optimiser states by the names of parameters, mmengine's checkpoints by their number.)
    """

    def before_run(self, runner: Runner) -> None:
        """Make all processes contribute their shares; the Runner saves on the first process only."""
        save = runner.save_checkpoint
        self._whole: dict[str, Any] = {}

        def collect_and_save(*args: Any, **kwargs: Any) -> None:
            states = dict(state_dict=runner.model.module.state_dict(), optimizer=runner.optim_wrapper.state_dict())
            self._whole = tree_map_only(Tensor, _collected, states)
            save(*args, **kwargs)

        runner.save_checkpoint = collect_and_save

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        checkpoint.update({name: states for name, states in self._whole.items() if name in checkpoint})
        self._whole = {}

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        if runner._resume:
            parameters = [p for group in runner.optim_wrapper.optimizer.param_groups for p in group['params']]
            for number, state in checkpoint['optimizer']['state'].items():
                state.update({name: share_of(value, parameters[number]) for name, value in state.items()})


def _collected(tensor: Tensor) -> Tensor | None:
    """Return the whole tensor on the CPU in the first process, else None; all processes must call this together."""
    tensor = whole(tensor)
    return tensor.cpu() if is_main_process() else None
