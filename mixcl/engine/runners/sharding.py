"""Weights, gradients and optimiser states that are spread over the processes (FSDP)."""

from collections.abc import Iterator
from typing import Any

from mmengine.dist import broadcast, get_world_size
from mmengine.optim import OptimWrapper
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from mixcl.algorithms import ContrastiveLearner
from mixcl.errors import UserError
from mixcl.registry import MODEL_WRAPPERS


@MODEL_WRAPPERS.register_module()
class MMFullyShardedDataParallel(nn.Module):
    """Data-parallel training in which every process keeps its share of each weight, gradient and optimiser state.

    Switch it on with ``model_wrapper_cfg=dict(type='MMFullyShardedDataParallel')``. The weights of a block are gathered
    for its forward and its backward pass, then dropped ("PyTorch FSDP", 2023; torch's ``fully_shard``). Losses and
    weights are those of DistributedDataParallel. mmengine's class of this name flattens the weights, which defeats
    rules about their shape (no weight decay for biases, LARS), and each process saves only its own share.

    Building the wrapper initialises the weights. Checkpoints hold whole tensors, see
    :class:`~mixcl.engine.hooks.sharded_states.ShardedStatesHook`.

    Args:
        module: a :class:`~mixcl.algorithms.ContrastiveLearner`, on the device where it is trained.

    Raises:
        UserError: for any other model.
    """

    def __init__(self, module: ContrastiveLearner) -> None:
        super().__init__()
        if not isinstance(module, ContrastiveLearner):
            raise UserError(
                f'MMFullyShardedDataParallel shards a ContrastiveLearner, not a {type(module).__name__}; leave out '
                'model_wrapper_cfg to train it with DistributedDataParallel'
            )
        module.init_weights()  # impossible once sharded
        for tensor in module.state_dict().values():
            broadcast(tensor)
        mesh = init_device_mesh(next(module.parameters()).device.type, (get_world_size(),))
        for unit in _units(module):
            for part in [*blocks_of(unit), unit]:
                # Each unit is called by itself, so no unit around it would reshard it.
                fully_shard(part, mesh=mesh, reshard_after_forward=True)
        module.register_load_state_dict_pre_hook(_share_weights)
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Tensor] | Tensor:
        return self.module(*args, **kwargs)

    def train_step(self, data: dict, optim_wrapper: OptimWrapper) -> dict[str, Tensor]:
        return self.module.train_step(data, optim_wrapper)


def blocks_of(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the parts with parameters in the outermost lists: layers of a transformer, residual blocks of a ResNet."""
    for child in module.children():
        members = child.children() if isinstance(child, (nn.ModuleList, nn.Sequential)) else blocks_of(child)
        yield from (member for member in members if any(True for _ in member.parameters()))


def _units(module: ContrastiveLearner) -> Iterator[nn.Module]:
    """Yield the parts of a model that are called by themselves, also in evaluation."""
    for name, child in module.named_children():
        units = child.children() if name in ('target', 'objective') else [child]
        units = module.patches.objective.children() if name == 'patches' else units
        yield from (unit for unit in units if any(True for _ in unit.parameters()))


def _share_weights(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    for name, parameter in module.named_parameters(prefix.removesuffix('.')):
        if name in state:
            state[name] = share_of(state[name], parameter)


def share_of(value: Any, like: Tensor) -> Any:
    """Return this process's share of a tensor, if ``like`` is sharded and of the same shape; else ``value``."""
    # Step counts have another shape, as do tensors that load_state_dict should reject.
    if not isinstance(like, DTensor) or getattr(value, 'shape', None) != like.shape:
        return value
    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
