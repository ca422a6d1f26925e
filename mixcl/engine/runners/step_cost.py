"""Cost of a step of pretraining: encoder passes, FLOPs, memory."""

from collections.abc import Callable
from typing import Any

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import Tensor, nn

from mixcl.algorithms import StepKey
from mixcl.engine.hooks.banner import parameter_line, passes_line
from mixcl.engine.hooks.health.throughput import flop_counter
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.trial_step import trial_batch
from mixcl.errors import UserError
from mixcl.recipes.building import build_model
from mixcl.recipes.paths import pretrains

BATCHED = (torch.ops.aten.bmm, torch.ops.aten.baddbmm)
"""Products of attention where no fused kernel computes it."""

REPORTED: dict[tuple[str, str], dict[str, float]] = {
    ('PatchMix', 'of two images'): {
        'mocov3/vit-t2_cifar': 44.4, 'mocov3/vit-s2_cifar': 175.6, 'mocov3/vit-b2_cifar': 700.0,
        'dino/vit-t2_cifar': 80.2, 'dino/vit-s2_cifar': 311.4, 'dino/vit-b2_cifar': 1237.2,
        'patchmix/vit-t2_cifar': 50.0, 'patchmix/vit-s2_cifar': 197.6, 'patchmix/vit-b2_cifar': 787.3,
        'patchmix/vit-s2_cifar_resizemix': 197.6,
    },
    ('APS', 'of an image'): {
        'mocov3/vit-t2_cifar': 21.9, 'mocov3/vit-s2_cifar': 87.6, 'mocov3/vit-b2_cifar': 348.2,
        'aps/vit-t2_cifar': 4.2, 'aps/vit-s2_cifar': 16.2, 'aps/vit-b2_cifar': 66.2,
        'mae/vit-t2_cifar': 4.8, 'mae/vit-s2_cifar': 19.2, 'mae/vit-b2_cifar': 76.2,
        'simmim/vit-t2_cifar': 6.0, 'simmim/vit-s2_cifar': 24.6, 'simmim/vit-b2_cifar': 97.6,
    },
}  # fmt: skip
"""GFLOPs by config, by paper and what they are of (PatchMix, Table 3; APS, Table 2). Neither paper says what it counts:
with all tokens of the last block and without the products inside attention, ours agree with APS's to 3 %, and those of
two images with PatchMix's to 1 %."""


def cost_lines(cfg: Config, processes: int = 1) -> list[str]:
    """Say what a step costs, counted on the CPU, and what the papers report for this config.

    A multiplication and an addition count as two FLOPs. Elementwise operations, normalisation and the optimiser do not
    count. A step of a method that takes several from one batch (APS) is one of these.

    Raises:
        UserError: if the config does not pretrain, or its model takes only large batches.
    """
    if not pretrains(cfg):
        raise UserError('--cost counts a step of pretraining, and this config does not pretrain; leave it out')
    model: Any = build_model(cfg).train()
    checkpoint_activations(model, cfg.get('activation_checkpointing') or ())
    with DefaultScope.overwrite_default_scope('mixcl'):
        batch = trial_batch(cfg, model, processes)
        optimizer = build_optim_wrapper(model, cfg.optim_wrapper).optimizer
    if batch is None:
        raise UserError('--cost counts a step of at most 32 images, and the model takes only larger batches')
    images, counter = len(batch['inputs'][0]), flop_counter()

    def step() -> None:
        model.begin_step(StepKey(0, 0, 0))
        loss, _ = model.parse_losses(model(**model.data_preprocessor(batch, True), mode='loss'))
        loss.backward()

    with counter:
        kept = activation_bytes(model, step)
    by_operation = counter.get_flop_counts()['Global']
    flops = sum(by_operation.values())
    attention = sum(n for kind, n in by_operation.items() if kind in BATCHED or 'attention' in str(kind))
    return [
        *([passes_line(model)] if hasattr(model, 'passes_per_image') else []),
        parameter_line(model, optimizer),
        f'a step takes {flops / images / 1e9:.4g} GFLOPs per image, {(flops - attention) / images / 1e9:.4g} without '
        f'the products inside attention, and keeps {kept / 2**20:.4g} MiB of activations of {images} images in fp32',
        *reported(str(cfg.get('config_name'))),
    ]


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


def reported(config: str) -> list[str]:
    """Say what papers report for a config of their tables, by its name."""
    name = config.replace('cifar100', 'cifar').replace('cifar10', 'cifar')
    return [
        f'{paper} reports {found[name]} GFLOPs {images}, with all tokens of the last block and without the products '
        'inside attention'
        for (paper, images), found in REPORTED.items()
        if name in found
    ]
