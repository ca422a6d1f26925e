"""Comparison of a checkpoint with the run that is to continue from it, and what may change in between."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.datasets.image_digest import differing_names
from mixcl.engine.hooks.new_settings import NewSettingsHook
from mixcl.errors import UserError
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.recipes.difference import Change, differences
from mixcl.recipes.paths import runner_sections
from mixcl.weights import newest_checkpoint, stored_config

IGNORED_CHANGES = re.compile(
    r'(work_dir|resume|load_from|launcher|experiment_name|default_scope|custom_imports|env_cfg|model_wrapper_cfg|cfg|'
    r'test_\w+)\b|train_cfg\.max_seconds$|.*\.fused$|.*\.init_cfg\b|'
    r'\w+_dataloader\.(pin_memory\w*|persistent_workers|prefetch_factor|timeout|multiprocessing_context)$'
)
"""Settings of where and how a run starts, of the machine, and those that act only before the first step."""

LENGTH_CHANGES = re.compile(r'train_cfg\.max_(epochs|iters)$')
HARMLESS_CHANGES = re.compile(
    r'.*\.(num_workers|data_root|source|labels|cache\.folder|cache\.gigabytes|val_interval|val_begin)$|(val_\w+|visualizer|log_\w+|activation_checkpointing|compile)\b|'
    r'randomness\.deterministic$|model\.target\.pretrained$|default_hooks\.(timer|logger|checkpoint|runtime_info|nonfinite|throughput|health|'
    r'environment|visualization|online_probe|images)\b'
)
"""Settings that decide how fast a run is, what it reports, and when it saves or ends, not what it computes."""

REPORTING_HOOKS = ('BannerHook', 'UnreadableImagesHook', 'PretrainedBackboneHook', 'OnlineProbe', 'ImagesHook')
"""Custom hooks that a resumed run may gain or lose; ``PretrainedBackboneHook`` acts only before the first step."""

BATCH, PROCESSES = 'train_dataloader.batch_size', 'the number of processes'


def changed_settings(old: Config, new: Config) -> list[Change]:
    """Return the changes, in what the Runner reads, since a checkpoint's config; without :data:`IGNORED_CHANGES`."""
    # Written and read as text like the old config, where classes become names.
    read = stored_config(dict(state_dict={}, meta=dict(cfg=new.pretty_text)), 'this run')
    changes = differences(_compared(old), _compared(read or new))
    return [change for change in changes if not IGNORED_CHANGES.match(change.path)]


def keeps_computation(change: Change) -> bool:
    """Whether a run may go on with this change unasked, since it computes the same, perhaps for longer."""
    return bool(LENGTH_CHANGES.match(change.path) or HARMLESS_CHANGES.match(change.path))


def check_same_run(runner: Runner, checkpoint: dict, path: str, allow: bool) -> None:
    """Compare position, images and settings of a checkpoint with those of a run, and log what differs.

    Raises:
        UserError: for a position that the run cannot have; unless ``allow`` (``--allow-changes``), also for other
            images, settings that change what is computed, or hooks whose state is not in the checkpoint.
    """
    if (lost := checkpoint.get('hooks', {}).get('lost')) and not allow:
        raise UserError(
            f'{path} cannot continue its run: {"; ".join(lost)}. Give it these methods before the next run (the '
            'state may be {}); `allow_changes` continues with a new hook'
        )
    stored, meta = stored_config(checkpoint, path), checkpoint['meta']
    _check_position(runner, meta, path)
    changes = changed_settings(stored, runner.cfg) if stored else []
    steps, processes = len(runner.train_loop.dataloader), meta.get('world_size', runner.world_size)
    changes += [
        Change(PROCESSES, processes, runner.world_size),
        Change('the number of steps per epoch', meta.get('steps_per_epoch', steps), steps),
    ]
    images, dataset = Change(*_images(runner, meta)), runner.train_loop.dataloader.dataset
    # Images come first, since other changes may follow from theirs.
    changes = [change for change in (images, *changes) if change.old != change.new]
    files = differing_names(Path(path).parent, meta['images'].get('digest'), dataset) if images in changes else ''
    refused = [change for change in changes if not keeps_computation(change)]
    if stored and _batch(stored) * processes == _batch(runner.cfg) * runner.world_size:
        refused = [change for change in refused if change.path not in (BATCH, PROCESSES)]
    if refused and not allow:
        more = f', and {len(refused) - 3} more' if len(refused) > 3 else ''
        older = 'recipe' in runner.cfg and stored and 'recipe' not in stored
        cure = 'It is of an older mixcl, whose recipes wrote more' if older else 'Restore the earlier settings'
        raise UserError(
            f'{path} is of another run: {"; ".join(map(str, refused[:3]))}{more}{files}. {cure}, or choose another '
            'folder for a new run; `allow_changes` continues with the new values'
        )
    for change in changes:
        follows = '; schedules follow the new length' if LENGTH_CHANGES.match(change.path) else ''
        follows = '; the run continues, but not bit by bit' if change.path == PROCESSES else follows
        follows = files if change is images else follows
        runner.logger.info(f'changed: {change}{follows}', extra=FOR_PEOPLE)
    if runner.cfg.get('load_from') and Path(path).resolve().parent == Path(runner.work_dir).resolve():
        newest = newest_checkpoint(runner.work_dir)
        if newest and Path(newest).name != Path(path).name:
            runner.logger.warning(
                f'{newest} is of a later step, and the next start would continue from it: move it away'
            )
    if refused or any(LENGTH_CHANGES.match(change.path) for change in changes):
        runner.register_hook(NewSettingsHook(changes), priority='HIGHEST')


def _check_position(runner: Runner, meta: dict, path: str) -> None:
    """Refuse a step or an epoch that no run can have written, or that lies beyond the end of this run."""
    steps = meta.get('steps_per_epoch', len(runner.train_loop.dataloader))
    step, epoch = meta.get('iter'), meta.get('epoch')
    unit = 'epoch' if 'max_epochs' in runner.cfg.train_cfg else 'iter'
    # A checkpoint written by steps may count the last step of an epoch as still within that epoch.
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


def _images(runner: Runner, meta: dict) -> tuple[str, Any, Any]:
    """Return what identifies the training images: its name, its value in the checkpoint and its value in the run."""
    now = runner.train_loop.images
    then = meta.get('images') or now
    if then['number'] != now['number']:
        return 'the number of training images', then['number'], now['number']
    for part in ('labels', 'contents') if then['digest'] == now['digest'] else ():
        if part in then and part in now and then[part] != now[part]:
            return f'the digest of the {part} of the training images', then[part], now[part]
    return 'the digest of the training images (their names, in order)', then['digest'], now['digest']


def _compared(cfg: Config) -> dict[str, Any]:
    sections = dict(runner_sections(cfg))
    hooks = [hook for hook in sections.get('custom_hooks') or [] if isinstance(hook, Mapping)]
    deciding = [hook for hook in hooks if str(hook.get('type')).rpartition('.')[2] not in REPORTING_HOOKS]
    return {**sections, 'custom_hooks': deciding}


def _batch(cfg: Config) -> int:
    return (cfg.get('train_dataloader') or {}).get('batch_size') or 1
