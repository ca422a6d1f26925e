"""What a run is about to do, said once at its start."""

from mmengine.hooks import Hook
from mmengine.runner import IterBasedTrainLoop, Runner
from torch import nn

from mixcl.distributed import unwrapped
from mixcl.registry import HOOKS


@HOOKS.register_module()
class BannerHook(Hook):
    """Logs global batch, learning rate and the rule behind it, parameters, and encoder passes per step."""

    def before_train(self, runner: Runner) -> None:
        model = unwrapped(runner.model)
        loader = runner.train_dataloader
        batch = loader.batch_size or loader.batch_sampler.batch_size  # a sampler may make the batches, as in mmdet
        lines = [
            _batch_line(runner, batch),
            _learning_rate_line(runner, batch * runner.world_size),
            *map(_group_line, runner.optim_wrapper.optimizer.param_groups),
            _parameter_line(model),
        ]
        if hasattr(model, 'passes_per_image'):
            with_gradient, without = model.passes_per_image()
            lines.append(f'encoder passes per image and step: {with_gradient} with gradient, {without} without')
        loop = runner.train_loop
        by_steps = isinstance(loop, IterBasedTrainLoop)
        length = f'{loop.max_iters} steps' if by_steps else f'{len(loader)} steps per epoch, {loop.max_epochs} epochs'
        lines.append(f'{length}, seed {runner.seed}, {type(runner.optim_wrapper).__name__}')
        if runner.val_loop is None and hasattr(model, 'passes_per_image'):
            lines.append('no kNN accuracy during the run: the config names no labelled images (val_dataloader)')
        runner.logger.info('\n'.join(['this run:', *(f'  {line}' for line in lines)]))


def _batch_line(runner: Runner, batch: int) -> str:
    accumulated = runner.optim_wrapper._accumulative_counts
    line = f'global batch {batch * runner.world_size}: {batch} images on each of {runner.world_size} process(es)'
    if accumulated > 1:
        line += (
            f'; gradients of {accumulated} batches are accumulated per step, negatives come from one batch at a time'
        )
    return line


def _learning_rate_line(runner: Runner, batch: int) -> str:
    groups = runner.optim_wrapper.optimizer.param_groups  # the wrapper's has a placeholder that is not scaled
    rate = max(group.get('initial_lr', group['lr']) for group in groups)
    scaling = runner.auto_scale_lr or {}
    base = scaling.get('base_batch_size')
    line = f'learning rate {rate:.4g}, as configured' + (f' for batch {base}' if base else '')
    if base and scaling.get('enable'):
        return f'learning rate {rate:.4g}: the {rate * base / batch:.4g} of batch {base}, scaled linearly to {batch}'
    if base and base != batch:
        line += f' and NOT scaled; with --auto-scale-lr it would be {rate * batch / base:.4g} (linear rule)'
    return line


def _group_line(group: dict) -> str:
    size = sum(parameter.numel() for parameter in group['params']) / 1e6
    decay = group.get('initial_weight_decay', group['weight_decay'])
    return f'parameter group: {size:.2f} M in {len(group["params"])} tensors, weight decay {decay:.3g}'


def _parameter_line(model: nn.Module) -> str:
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    backbone = sum(p.numel() for p in model.get_submodule('backbone').parameters())
    return f'parameters: {trained / 1e6:.2f} M trained, of which the backbone has {backbone / 1e6:.2f} M'
