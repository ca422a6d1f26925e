"""Summary of a run, logged once at its start."""

import math
import shutil
from typing import Any

from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import IterBasedTrainLoop, Runner
from rich import filesize
from torch import nn
from torch.optim import Optimizer

from mixcl.datasets.keyed_dataset import KeyedDataset
from mixcl.datasets.verification import transparency
from mixcl.distributed import unwrapped
from mixcl.engine.hooks.checkpoint_hook import CheckpointHook
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.recipes.sections import BATCH_OF_LR
from mixcl.registry import HOOKS
from mixcl.weights.teacher import Teacher


@HOOKS.register_module()
class BannerHook(Hook):
    """Logs the batch size, the learning rate and its scaling, parameters, passes per step, memory and disk space."""

    def before_train(self, runner: Runner) -> None:
        model = unwrapped(runner.model)
        loader = runner.train_dataloader
        batch = loader.batch_sampler.batch_size
        lines = [
            _batch_line(runner, batch),
            _learning_rate_line(runner, batch * runner.world_size),
            parameter_line(model, runner.optim_wrapper.optimizer),
        ]
        if hasattr(model, 'passes_per_image'):
            lines.append(passes_line(model))
            if unnamed := sorted(set(model.recipe.mixtures) - model.stream_names):
                everything = '; nothing is mixed' if len(unnamed) == len(model.recipe.mixtures) else ''
                lines.append(f'not built, since no row of model.terms uses them: {", ".join(unnamed)}{everything}')
        loop = runner.train_loop
        by_steps = isinstance(loop, IterBasedTrainLoop)
        length = f'{loop.max_iters} steps' if by_steps else f'{len(loader)} steps per epoch, {loop.max_epochs} epochs'
        lines.append(f'{length}, seed {runner.seed}, {type(runner.optim_wrapper).__name__}')
        lines += _checkpoint_lines(runner, model)
        if isinstance(loader.dataset, KeyedDataset) and runner.rank == 0 and (found := transparency(loader.dataset)):
            lines.append(found)
        if 0 < runner.iter < runner.max_iters:
            lines.append(f'it continues after step {runner.iter}')
        text = '\n'.join([f'this run, in {runner.cfg.work_dir}:', *(f'  {line}' for line in lines)])
        runner.logger.info(text, extra=FOR_PEOPLE)


def _batch_line(runner: Runner, batch: int) -> str:
    accumulated = runner.optim_wrapper._accumulative_counts
    line = f'global batch {batch * runner.world_size}: {batch} images on each of {runner.world_size} process(es)'
    many = f'; gradients of {accumulated} batches are accumulated per step, negatives come from one batch at a time'
    return line + (many if accumulated > 1 else '')


def _learning_rate_line(runner: Runner, batch: int) -> str:
    groups = runner.optim_wrapper.optimizer.param_groups  # the wrapper's include an unscaled placeholder
    rates = [group.get('initial_lr', group['lr']) for group in groups]
    rate, least = max(rates), min(rates)
    line = f'learning rate {rate:.4g}' + (f', by layers down to {least:.2g}' if least < rate else '')
    return line + batch_note(runner.cfg, batch * runner.optim_wrapper._accumulative_counts, rate)


def batch_note(cfg: Config, images: int, rate: float) -> str:
    """Return the end of a line on the learning rate: how it follows from the images of a step."""
    if recipe := cfg.get('recipe'):
        if not math.isclose(rate, recipe.optimizer.lr * images / BATCH_OF_LR):
            return ', as given'
        base = cfg.get('recipe_batch') or recipe.batch
        if base == images:
            return ", the recipe's for its batch"
        few = "; WARNING: below a hundredth of the recipe's rate a run may learn nothing; larger batches raise it"
        advice = 'more processes or a larger at_once take more images'
        note = f", scaled linearly from the recipe's batch of {base}: {advice}"
        return note + (few if 100 * images < base else '')
    scaling = cfg.get('auto_scale_lr') or {}
    base = scaling.get('base_batch_size')
    if base and scaling.get('enable'):
        return f': the {rate * base / images:.4g} of batch {base}, scaled linearly to {images}'
    note = ', as configured' + (f' for batch {base}' if base else '')
    if base and base != images:
        note += f' and NOT scaled; with `auto_scale_lr` it would be {rate * images / base:.4g} (linear rule)'
    return note


def parameter_line(model: nn.Module, optimizer: Optimizer) -> str:
    """Say how many parameters a model trains, and what memory they take in training."""
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    parts = list(model.get_submodule('backbone').parameters())
    backbone = sum(p.numel() for p in parts if p.requires_grad)
    frozen = sum(p.numel() for p in parts) - backbone
    gradients = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    memory = filesize.decimal(checkpoint_bytes(model, optimizer) + gradients)
    target = getattr(model, 'target', None)
    held = list(target.backbone.parameters()) if isinstance(target, Teacher) else []
    return (
        f'parameters: {trained / 1e6:.2f} M trained, of which the backbone has {backbone / 1e6:.2f} M'
        + (f' beside {frozen / 1e6:.2f} M that are frozen' if frozen else '')
        + f'; all weights, gradients and the optimiser take {memory} of memory, activations more'
        + (f'; the teacher of {sum(p.numel() for p in held) / 1e6:.2f} M parameters takes ' if held else '')
        + (filesize.decimal(sum(p.nbytes for p in held)) if held else '')
    )


def passes_line(model: Any) -> str:
    """Say how often a step encodes an image."""
    with_gradient, without = model.passes_per_image()
    return f'encoder passes per image and step: {with_gradient} with gradient, {without} without'


def _checkpoint_lines(runner: Runner, model: nn.Module) -> list[str]:
    hook = next((hook for hook in runner.hooks if isinstance(hook, CheckpointHook)), None)
    if hook is None:
        return []
    size = checkpoint_bytes(model, runner.optim_wrapper.optimizer)
    most, free = hook.max_keep_ckpts, shutil.disk_usage(runner.work_dir).free  # includes the one being written
    number = f'at most {most} at a time, which take {filesize.decimal(most * size)}' if most > 0 else 'all are kept'
    return [f'checkpoints of {filesize.decimal(size)}, {number}; the disk has {filesize.decimal(free)} left']


def checkpoint_bytes(model: nn.Module, optimizer: Optimizer) -> int:
    """Return the bytes of the tensors in a checkpoint: weights, buffers and the moments of the optimiser."""
    weights = sum(tensor.nbytes for tensor in model.state_dict().values())
    trained = sum(p.nbytes for group in optimizer.param_groups for p in group['params'] if p.requires_grad)
    moments = 2 if 'betas' in optimizer.defaults else int(optimizer.defaults.get('momentum', 0) > 0)
    return weights + moments * trained
