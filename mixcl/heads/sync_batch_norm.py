"""Batch normalisation over the batches of all processes."""

from typing import Any, cast

import torch
from mmengine.dist import get_world_size
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.modules.batchnorm import _BatchNorm

from mixcl.registry import MODELS


@MODELS.register_module()
class SyncBatchNorm(_BatchNorm):
    """torch's ``SyncBatchNorm``, which also takes CPU tensors.

    Equals BatchNorm on the concatenated batch in values, gradients and running statistics, also when processes hold
    different numbers of rows. With one process, or in eval mode, it is plain BatchNorm. Statistics are computed in at
    least float32, also under autocast. (It is no subclass, because DistributedDataParallel refuses those on a CPU.)

    Input: (N, C) or (N, C, ...), floating point. Arguments as in ``torch.nn.BatchNorm1d``.
    """

    process_group = None
    _check_input_dim: Any = nn.SyncBatchNorm._check_input_dim
    _check_non_zero_input_channels: Any = nn.SyncBatchNorm._check_non_zero_input_channels

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if not self.training or get_world_size() == 1:
            return super().forward(input)
        return nn.SyncBatchNorm.forward(cast(nn.SyncBatchNorm, self), input) if input.is_cuda else self._on_cpu(input)

    def _on_cpu(self, input: Tensor) -> Tensor:
        x = input.double() if input.dtype == torch.float64 else input.float()
        dims = [dim for dim in range(x.dim()) if dim != 1]
        total = all_reduce(torch.cat([x.sum(dims), x.new_tensor([x.numel() / x.shape[1]])]))
        count, mean = total[-1], total[:-1] / total[-1]
        centred = x - _per_channel(mean, x)
        variance = all_reduce(centred.square().sum(dims)) / count  # two passes: stable for large means
        self._update_running_statistics(mean.detach(), variance.detach(), count.detach())
        out = centred * _per_channel((variance + self.eps).rsqrt(), x)
        if self.affine:
            out = out * _per_channel(self.weight, x) + _per_channel(self.bias, x)
        return out.to(input.dtype)

    @torch.no_grad()
    def _update_running_statistics(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        if not self.track_running_stats:
            return
        self.num_batches_tracked.add_(1)
        # Without a momentum, a cumulative average, as in torch.
        share = 1 / self.num_batches_tracked.to(mean.dtype) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_((variance * count / (count - 1)).to(self.running_var.dtype), share)


def _per_channel(values: Tensor, like: Tensor) -> Tensor:
    return values.view(1, -1, *[1] * (like.dim() - 2))


def has_batch_norm(module: nn.Module) -> bool:
    """Whether some layer of the module makes the rows of a batch depend on each other."""
    return any(isinstance(layer, _BatchNorm) for layer in module.modules())
