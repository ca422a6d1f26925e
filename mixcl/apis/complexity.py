"""What an iteration of a pretraining config costs: parameters, FLOPs, memory, time."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from mixcl.algorithms import ContrastiveLearner, PatchSamplingLearner
from mixcl.errors import UserError
from mixcl.experiments.options.smoke import synthetic_images
from mixcl.experiments.paths import whole_model
from mixcl.registry import MODELS


@dataclass(frozen=True)
class Complexity:
    """Cost of one iteration: all views of a batch, forward, backward, optimiser, target encoder.

    Attributes:
        backbone_parameters: of the online backbone, frozen ones included, without heads.
        trained_parameters: of backbone and heads.
        flops: of all passes. Matrix products, convolutions and attention count, a multiplication and an addition as
            two; elementwise operations, normalisation and the optimiser do not.
        layer_flops: those without the two products inside of attention, which many counters do not see.
        activation_bytes: see :func:`activation_bytes`.
        total_bytes: peak with weights, optimiser states and images; None on a CPU.
        seconds: mean duration, without loading of data.
    """

    backbone_parameters: int
    trained_parameters: int
    flops: int
    layer_flops: int
    activation_bytes: int
    total_bytes: int | None
    seconds: float


class SyntheticIteration:
    """The model and the optimiser of a pretraining config, and one batch of its own views of synthetic images.

    Where a batch makes several iterations (APS) it is the first chunk of one.

    Args:
        cfg: a pretraining config; its data set is not read.
        batch_size: images per iteration, at least 2.
        device: 'cpu' or 'cuda'.

    Raises:
        UserError: if the config is not one of a ContrastiveLearner, or cannot use such a batch; without the GPU.
    """

    def __init__(self, cfg: Config, batch_size: int, device: str = 'cpu') -> None:
        if device == 'cuda' and not torch.cuda.is_available():
            raise UserError('`device=cuda`: PyTorch finds no GPU here; use `device=cpu`')
        if batch_size < 2:
            raise UserError(f'`batch_size={batch_size}`: the batch normalisation of the heads needs at least 2 images')
        if cfg.get('model', {}).get('type') not in ('ContrastiveLearner', 'PatchSamplingLearner'):
            raise UserError('mixcl complexity measures pretraining configs, whose model has type ContrastiveLearner')
        self.device = torch.device(device)
        self.epochs = cfg.train_cfg.max_epochs
        with DefaultScope.overwrite_default_scope('mixcl'):
            model = MODELS.build(whole_model(cfg))
            self.model: ContrastiveLearner = model.to(self.device).train()
            self.optimizer = build_optim_wrapper(self.model, cfg.optim_wrapper)
            self.batch = _batch(cfg, self.model, batch_size)
        self.model.check_batch([crop[0] for crop in self.batch['inputs']], batch_size)

    def run(self) -> None:
        """All of an iteration but the loading of its data."""
        self.model.train_step(self.batch, self.optimizer)
        self.model.end_step(0.5, self.epochs)  # costs the same at any point of the run


def measure(iteration: SyntheticIteration, repeats: int = 5) -> Complexity:
    """Measure an iteration; ``repeats`` of them, 1 or more, are timed after others that are not."""
    model = iteration.model
    flops, layer_flops = count_flops(iteration.run)  # makes the optimiser states, too
    activations = activation_bytes(model, iteration.run)
    on_gpu = iteration.device.type == 'cuda'
    timer = Timer('run()', globals=dict(run=iteration.run), num_threads=torch.get_num_threads())
    return Complexity(
        backbone_parameters=sum(part.numel() for part in model.backbone.parameters()),
        trained_parameters=sum(part.numel() for part in model.parameters() if part.requires_grad),
        flops=flops,
        layer_flops=layer_flops,
        activation_bytes=activations,
        total_bytes=torch.cuda.max_memory_allocated(iteration.device) if on_gpu else None,
        seconds=timer.timeit(repeats).mean,
    )


def count_flops(function: Callable[[], object]) -> tuple[int, int]:
    """FLOPs of a call by PyTorch's ``FlopCounterMode``: all, and without the batched products inside of attention."""
    # It does not know the CPU's fused attention; as two batched products it is counted on every device.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        function()
    by_operation = counter.get_flop_counts()['Global']
    batched = sum(by_operation.get(operation, 0) for operation in (torch.ops.aten.bmm, torch.ops.aten.baddbmm))
    return counter.get_total_flops(), counter.get_total_flops() - batched


def activation_bytes(model: nn.Module, step: Callable[[], object]) -> int:
    """Memory of one forward and backward ``step`` beyond what was there before: weights, optimiser state, images.

    On a GPU the peak of the allocator. On a CPU the tensors that are saved for the backward pass, each storage once,
    without the weights; buffers that live only within an operation are not seen there.
    """
    device = next(model.parameters()).device
    if device.type == 'cuda':
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        step()
        return torch.cuda.max_memory_allocated(device) - before
    weights = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()  # once, however many operations saved it
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        step()
    return sum(saved.values())


def _batch(cfg: Config, model: ContrastiveLearner, batch_size: int) -> dict:
    loader_cfg = cfg.train_dataloader.copy()
    loader_cfg.update(batch_size=batch_size, num_workers=0, persistent_workers=False, pin_memory=False)
    images = synthetic_images(loader_cfg.dataset, batch_size, cfg.model.backbone.get('in_channels', 3))
    loader_cfg.dataset = dict(type='KeyedDataset', dataset=images)
    batch = next(iter(Runner.build_dataloader(loader_cfg, seed=0)))
    return model.chunk(batch, 0) if isinstance(model, PatchSamplingLearner) else batch
