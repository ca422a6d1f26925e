"""Cost of an iteration of a pretraining config: parameters, FLOPs, memory, time."""

from collections.abc import Callable
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from mixcl.algorithms import Learner
from mixcl.engine.runners.quiet_runner import put_channels_last, with_fused_optimizer
from mixcl.engine.runners.trial_step import synthetic_batch
from mixcl.errors import UserError
from mixcl.recipes.paths import pretrains, whole_model
from mixcl.registry import MODELS

FLOPS, MEMORY, SECONDS = 'GFLOPs per image', 'peak memory (GiB)', 'seconds per iteration'

# By config, for both CIFAR data sets: PatchMix, Table 3; APS, Table 2 (batch 512, mixed precision); MixCo, Table 2 (64
# images on each of two GPUs; seconds per epoch divided by its 781 iterations).
PAPERS = {
    'mocov3/vit-t2_cifar': {FLOPS: '44.4 (PatchMix), 21.9 (APS)', MEMORY: '40.0 GB (APS)'},
    'mocov3/vit-s2_cifar': {FLOPS: '175.6 (PatchMix), 87.6 (APS)', MEMORY: '80.0 GB (APS)'},
    'mocov3/vit-b2_cifar': {FLOPS: '700.0 (PatchMix), 348.2 (APS)', MEMORY: '159.3 GB (APS)'},
    'dino/vit-t2_cifar': {FLOPS: '80.2 (PatchMix)'},
    'dino/vit-s2_cifar': {FLOPS: '311.4 (PatchMix)'},
    'dino/vit-b2_cifar': {FLOPS: '1237.2 (PatchMix)'},
    'patchmix/vit-s2_cifar_resizemix': {FLOPS: '197.6 (SDMP in PatchMix)'},
    'patchmix/vit-t2_cifar': {FLOPS: '50.0 (PatchMix)'},
    'patchmix/vit-s2_cifar': {FLOPS: '197.6 (PatchMix)'},
    'patchmix/vit-b2_cifar': {FLOPS: '787.3 (PatchMix)'},
    'aps/vit-t2_cifar': {FLOPS: '4.2 (APS)', MEMORY: '9.0 GB (APS)'},
    'aps/vit-s2_cifar': {FLOPS: '16.2 (APS)', MEMORY: '16.2 GB (APS)'},
    'aps/vit-b2_cifar': {FLOPS: '66.2 (APS)', MEMORY: '33.1 GB (APS)'},
    'mae/vit-t2_cifar': {FLOPS: '4.8 (APS)', MEMORY: '13.3 GB (APS)'},
    'mae/vit-s2_cifar': {FLOPS: '19.2 (APS)', MEMORY: '25.5 GB (APS)'},
    'mae/vit-b2_cifar': {FLOPS: '76.2 (APS)', MEMORY: '50.8 GB (APS)'},
    'simmim/vit-t2_cifar': {FLOPS: '6.0 (APS)', MEMORY: '28.6 GB (APS)'},
    'simmim/vit-s2_cifar': {FLOPS: '24.6 (APS)', MEMORY: '57.9 GB (APS)'},
    'simmim/vit-b2_cifar': {FLOPS: '97.6 (APS)', MEMORY: '115.3 GB (APS)'},
    'mocov2/r18_tinyimagenet': {MEMORY: '3.5 GB per GPU (MixCo)', SECONDS: '0.170 (MixCo)'},
    'mocov2/r34_tinyimagenet': {MEMORY: '4.3 GB per GPU (MixCo)', SECONDS: '0.315 (MixCo)'},
    'mocov2/r50_tinyimagenet': {MEMORY: '8.1 GB per GPU (MixCo)', SECONDS: '0.393 (MixCo)'},
    'mixco/r18_tinyimagenet_mocov2': {MEMORY: '4.5 GB per GPU (MixCo)', SECONDS: '0.196 (MixCo)'},
}


class SyntheticIteration:
    """Model and optimiser of a pretraining config, and one batch of its own views of synthetic images.

    Both are built as for a run: channels last, a fused optimiser. If a batch makes several iterations (APS), the
    iteration uses its first chunk.

    Args:
        cfg: a pretraining config; its data set is not read.
        batch_size: images per iteration, at least 2.
        device: 'cpu' or 'cuda'.
        views: where views are finished; with 'device' an iteration does their photometry.

    Raises:
        UserError: if the config does not pretrain, or cannot use such a batch.
    """

    def __init__(self, cfg: Config, batch_size: int, device: str = 'cpu', views: str = 'pillow') -> None:
        if not pretrains(cfg):
            raise UserError('mixcl complexity measures pretraining configs, whose train_cfg has type PretrainLoop')
        self.device = torch.device(device)
        self.batch_size = batch_size
        self.epochs = cfg.train_cfg.max_epochs
        with DefaultScope.overwrite_default_scope('mixcl'):
            self.model: Learner = MODELS.build(whole_model(cfg)).to(self.device).train()
            put_channels_last(self.model)
            self.optimizer = build_optim_wrapper(self.model, with_fused_optimizer(cfg.optim_wrapper))
            self.batch = synthetic_batch(cfg, self.model, batch_size, views)
        self.model.check_batch([crop[0] for crop in self.batch['inputs']], batch_size)

    def run(self) -> None:
        """Run an iteration, except for loading its data."""
        self.model.train_step(self.batch, self.optimizer)
        self.model.end_step(0.5, self.epochs)  # costs the same at any point of the run


def measure(iteration: SyntheticIteration, repeats: int = 5) -> dict[str, float]:
    """Return the cost of an iteration, by the names that the command prints.

    FLOPs are of all passes: a multiplication and an addition count as two; elementwise operations, normalisation and
    the optimiser do not count. ``repeats`` iterations, 1 or more, are timed after untimed ones.
    """
    model = iteration.model
    counter = counted(iteration.run)  # also makes the optimiser states
    flops, by_operation = counter.get_total_flops(), counter.get_flop_counts()['Global']
    batched = sum(by_operation.get(operation, 0) for operation in (torch.ops.aten.bmm, torch.ops.aten.baddbmm))
    found = {
        'parameters of the backbone (M)': sum(part.numel() for part in model.backbone.parameters()) / 1e6,
        'parameters trained (M)': sum(part.numel() for part in model.parameters() if part.requires_grad) / 1e6,
        'GFLOPs per iteration': flops / 1e9,
        FLOPS: flops / 1e9 / iteration.batch_size,
        '  without products of attention': (flops - batched) / 1e9 / iteration.batch_size,
        'activations (GiB)': activation_bytes(model, iteration.run) / 2**30,
    }
    if iteration.device.type == 'cuda':
        torch.cuda.reset_peak_memory_stats(iteration.device)
    timer = Timer('run()', globals=dict(run=iteration.run), num_threads=torch.get_num_threads())
    found[SECONDS] = timer.timeit(repeats).mean
    if iteration.device.type == 'cuda':
        found[MEMORY] = torch.cuda.max_memory_allocated(iteration.device) / 2**30
    return found


def count_flops(function: Callable[[], object]) -> int:
    """Return the FLOPs of a call."""
    return counted(function).get_total_flops()


def counted(function: Callable[[], object]) -> FlopCounterMode:
    """Return PyTorch's counter of FLOPs after a call."""
    # The counter does not know the CPU's fused attention; as two batched products, attention counts on every device.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        function()
    return counter


def activation_bytes(model: nn.Module, step: Callable[[], object]) -> int:
    """Return the bytes that a forward ``step`` saves for its backward pass, each storage once, without the weights."""
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


def paper_values(config: str) -> dict[str, str]:
    """Return what the papers report for a config, by quantity."""
    path = Path(config)
    name = f'{path.parent.name}/{path.stem}'.replace('cifar100', 'cifar').replace('cifar10', 'cifar')
    return PAPERS.get(name, {})
