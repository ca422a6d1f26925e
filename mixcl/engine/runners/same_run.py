"""Whether a checkpoint is of the run that is to continue from it."""

from pathlib import Path

from mmengine.runner import Runner

from mixcl.engine.runners.changed_config import NewSettingsHook, check_changes
from mixcl.errors import UserError
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.weights import newest_checkpoint, stored_config


def check_same_run(runner: Runner, checkpoint: dict, path: str, allow: bool) -> None:
    """Compare position, images and settings of a checkpoint with those of a run, and tell what differs.

    Raises:
        UserError: for a position that the run cannot have; for other images, or settings that change what is computed,
            unless ``allow`` (``--allow-changes``).
    """
    stored, meta = stored_config(checkpoint, path), checkpoint['meta']
    _check_position(runner, meta, path)
    other_images = _other_images(runner, meta, path)
    if other_images and not allow:
        raise UserError(
            f'{other_images}. Give it the same images, or choose another folder for a new run; --allow-changes '
            'continues with these images'
        )
    changes = []
    if stored is not None:
        changes = check_changes(stored, runner.cfg, meta.get('world_size', runner.world_size), path, allow)
    for told in [*([other_images] if other_images else []), *changes]:
        runner.logger.info(f'changed: {told}', extra=FOR_PEOPLE)
    if runner.cfg.get('load_from') and Path(path).resolve().parent == Path(runner.work_dir).resolve():
        newest = newest_checkpoint(runner.work_dir)
        if newest and Path(newest).name != Path(path).name:
            runner.logger.warning(f'{newest} is of a later step, from which the next start would go on: move it')
    if other_images or any(change.decides for change in changes):
        runner.register_hook(NewSettingsHook(changes), priority='HIGHEST')


def _check_position(runner: Runner, meta: dict, path: str) -> None:
    """Refuse a step or an epoch that no run writes, or that lies beyond the end of this one."""
    steps = meta.get('steps_per_epoch', len(runner.train_loop.dataloader))
    step, epoch = meta.get('iter'), meta.get('epoch')
    unit = 'epoch' if 'max_epochs' in runner.cfg.train_cfg else 'iter'
    # A checkpoint that is written within the epochs may say of an epoch's last step that it is still in it.
    is_position = all(type(number) is int for number in (step, epoch, steps)) and step >= 0 and epoch >= 0 < steps
    if not is_position or (unit == 'epoch' and not epoch * steps <= step <= (epoch + 1) * steps):
        raise UserError(
            f'{path} says that it was written after step {step!r}, in epoch {epoch!r}, with {steps!r} steps per epoch, '
            'which cannot be: resume another checkpoint'
        )
    length = runner.cfg.train_cfg[f'max_{unit}s']
    end = length * steps if unit == 'epoch' else length
    if step > end:
        raise UserError(
            f'{path} was written after step {step}, beyond the end of the run at {end} (max_{unit}s={length}): resume '
            f'an earlier one, or raise train_cfg.max_{unit}s'
        )
    if step == end:
        message = f'{path} is at the end of the run ({length} {unit}s), which is finished'
        runner.logger.info(message, extra=FOR_PEOPLE)


def _other_images(runner: Runner, meta: dict, path: str) -> str:
    """How the images differ from those of the checkpoint, in words; empty if they do not, or if it does not say."""
    now, then = runner.train_loop.images, meta.get('images') or runner.train_loop.images
    if then == now:
        return ''
    are = f'{now["number"]}' if then['number'] != now['number'] else 'as many, of other names or in another order,'
    return f'{path} was trained on {then["number"]} images, and there are {are} now'
