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
        lines = [_batch_line(runner), _learning_rate_line(runner), *_group_lines(runner), _parameter_line(model)]
        if hasattr(model, 'passes_per_image'):
            with_gradient, without = model.passes_per_image()
            lines.append(f'encoder passes per image and step: {with_gradient} with gradient, {without} without')
        lines.append(f'{_length(runner)}, seed {runner.seed}, {type(runner.optim_wrapper).__name__}')
        if runner.val_loop is None and hasattr(model, 'passes_per_image'):
            lines.append('no kNN accuracy during the run: the config names no labelled images (val_dataloader)')
        runner.logger.info('\n'.join(['this run:', *(f'  {line}' for line in lines)]))


def _length(runner: Runner) -> str:
    loop = runner.train_loop
    if isinstance(loop, IterBasedTrainLoop):
        return f'{loop.max_iters} steps'
    return f'{len(runner.train_dataloader)} steps per epoch, {loop.max_epochs} epochs'


def _local_batch(runner: Runner) -> int:
    loader = runner.train_dataloader
    return loader.batch_size or loader.batch_sampler.batch_size  # a sampler may make the batches, as in mmdet


def _global_batch(runner: Runner) -> int:
    return _local_batch(runner) * runner.world_size


def _batch_line(runner: Runner) -> str:
    accumulated = runner.optim_wrapper._accumulative_counts
    line = (
        f'global batch {_global_batch(runner)}: {_local_batch(runner)} images on each of '
        f'{runner.world_size} process(es)'
    )
    if accumulated == 1:
        return line
    return (
        f'{line}; gradients of {accumulated} batches are accumulated per step, negatives come from one batch at a time'
    )


def _learning_rate_line(runner: Runner) -> str:
    groups = runner.optim_wrapper.optimizer.param_groups  # the wrapper's has a placeholder that is not scaled
    rate = max(group.get('initial_lr', group['lr']) for group in groups)
    base = (runner.auto_scale_lr or {}).get('base_batch_size')
    batch = _global_batch(runner)
    if base is None:
        return f'learning rate {rate:.4g}, as configured'
    if runner.auto_scale_lr.get('enable', False):
        return f'learning rate {rate:.4g}: the {rate * base / batch:.4g} of batch {base}, scaled linearly to {batch}'
    if base == batch:
        return f'learning rate {rate:.4g}, as configured for batch {base}'
    return (
        f'learning rate {rate:.4g}, as configured for batch {base} and NOT scaled; with --auto-scale-lr it would be '
        f'{rate * batch / base:.4g} (linear rule)'
    )


def _group_lines(runner: Runner) -> list[str]:
    return [
        f'parameter group: {sum(p.numel() for p in group["params"]) / 1e6:.2f} M in {len(group["params"])} tensors, '
        f'weight decay {group.get("initial_weight_decay", group["weight_decay"]):.3g}'
        for group in runner.optim_wrapper.optimizer.param_groups  # the wrapper's has a placeholder group beside them
    ]


def _parameter_line(model: nn.Module) -> str:
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    backbone = sum(p.numel() for p in model.backbone.parameters())
    return f'parameters: {trained / 1e6:.2f} M trained, of which the backbone has {backbone / 1e6:.2f} M'
