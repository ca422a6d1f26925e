"""Weights, gradients and optimiser states that are spread over the processes (FSDP)."""

import copy
from collections.abc import Iterator
from functools import partial

from mmengine.dist import broadcast, get_world_size
from mmengine.optim import OptimWrapper
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from mixcl.algorithms import ContrastiveLearner
from mixcl.engine.runners.blocks import blocks_of
from mixcl.errors import UserError
from mixcl.registry import MODEL_WRAPPERS


@MODEL_WRAPPERS.register_module()
class MMFullyShardedDataParallel(nn.Module):
    """Data-parallel training in which every process keeps its share of each weight, gradient and optimiser state.

    ``model_wrapper_cfg=dict(type='MMFullyShardedDataParallel')`` is the switch. The weights of a block are collected
    for its forward and its backward pass and dropped again ("PyTorch FSDP", 2023; in the form of torch's
    ``fully_shard``). Losses and weights are those of DistributedDataParallel.

    It takes the place of mmengine's class of this name in configs of mixcl. That one flattens the weights, so that
    rules about their shape (no weight decay for biases, LARS, EMA) would apply to something else; it also saves and
    initialises nothing but its own share, and needs a GPU.

    ``state_dict`` of the model holds distributed tensors; checkpoints hold whole ones, see
    :class:`~mixcl.engine.hooks.sharded_states.ShardedStatesHook`.

    Args:
        module: a :class:`~mixcl.algorithms.ContrastiveLearner`, on the device where it is trained.

    Raises:
        UserError: for another model.
    """

    def __init__(self, module: ContrastiveLearner) -> None:
        super().__init__()
        _check_shardable(module)
        # The Runner initialises weights after it has wrapped the model, and a share is not initialised as a whole.
        self._unsharded: list[ContrastiveLearner] = [copy.deepcopy(module)]
        self._handed_out: dict[str, Tensor] | None = None
        self.module = module
        mesh = init_device_mesh(next(module.parameters()).device.type, (get_world_size(),))
        for unit in _units(module):
            for part in [*blocks_of(unit), unit]:
                # Each unit is used by itself, so none is resharded by another one around it.
                fully_shard(part, mesh=mesh, reshard_after_forward=True)
        module.init_weights = self._init_weights
        module.register_load_state_dict_pre_hook(_shard_loaded)
        module.register_state_dict_post_hook(partial(self._hand_out))  # torch marks what it is given

    def forward(self, *args, **kwargs) -> dict[str, Tensor] | Tensor:
        return self.module(*args, **kwargs)

    def train_step(self, data: dict, optim_wrapper: OptimWrapper) -> dict[str, Tensor]:
        """One forward and backward pass, and the optimiser step if it is due; returns values for the log."""
        with optim_wrapper.optim_context(self):
            losses = self(**self.module.data_preprocessor(data, True), mode='loss')
        loss, log = self.module.parse_losses(losses)
        optim_wrapper.update_params(loss)
        return log

    def hand_out(self, state: dict[str, Tensor] | None) -> None:
        """Let the next ``state_dict`` of the model be ``state``."""
        self._handed_out = state

    def _hand_out(self, module: nn.Module, state: dict[str, Tensor], *_: object) -> None:
        if self._handed_out is not None:
            state.update(self._handed_out)
            self._handed_out = None

    def _init_weights(self) -> None:
        if not self._unsharded:
            return
        whole = self._unsharded.pop()
        whole.init_weights()
        state = whole.state_dict()
        for tensor in state.values():
            broadcast(tensor)
        self.module.load_state_dict(state)
        self.hand_out(state)  # the Runner broadcasts what was initialised


def sharded_like(value: Tensor, like: Tensor) -> Tensor:
    """This process's share of a tensor, if ``like`` is spread over the processes and of the same shape."""
    if not isinstance(like, DTensor) or isinstance(value, DTensor) or value.shape != like.shape:
        return value
    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _shard_loaded(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    for name, parameter in module.named_parameters(prefix.removesuffix('.')):
        if name in state:
            state[name] = sharded_like(state[name], parameter)


def _units(module: ContrastiveLearner) -> Iterator[nn.Module]:
    """The parts of a model that are called by themselves, also in evaluation."""
    for name, child in module.named_children():
        for unit in child.children() if name == 'target' else [child]:
            if any(True for _ in unit.parameters()):
                yield unit


def _check_shardable(module: nn.Module) -> None:
    if not isinstance(module, ContrastiveLearner):
        raise UserError(
            f'MMFullyShardedDataParallel shards models of pretraining, not a {type(module).__name__}; leave out '
            'model_wrapper_cfg to train it with DistributedDataParallel'
        )
