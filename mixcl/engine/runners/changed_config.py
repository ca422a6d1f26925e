"""What a resumed run may do otherwise than the run that it continues."""

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mmengine.config import Config
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.optim.scheduler.param_scheduler import _ParamScheduler
from mmengine.runner import Runner

from mixcl.configuration.paths import Path, children, readable, runner_sections
from mixcl.errors import UserError
from mixcl.weights.stored_config import stored_config

SILENT = re.compile(
    r'(work_dir|resume|load_from|launcher|experiment_name|default_scope|custom_imports|env_cfg|model_wrapper_cfg|cfg|'
    r'test_\w+)\b|train_cfg\.max_seconds$|.*\.fused$|.*\.init_cfg\b|'
    r'\w+_dataloader\.(pin_memory\w*|persistent_workers|prefetch_factor|timeout|multiprocessing_context)$'
)
"""Where and how a run is started, what follows from the machine, and what acts before the first step only."""

LENGTH = re.compile(r'train_cfg\.max_(epochs|iters)$')
ALLOWED = re.compile(
    r'.*\.(num_workers|data_root|source|val_interval|val_begin)$|(val_\w+|visualizer|log_\w+|activation_checkpointing|compile)\b|'
    r'randomness\.deterministic$|default_hooks\.(?!param_scheduler|sampler_seed)'
)
"""What decides how fast a run goes, what it reports, and when it saves or ends, but not what it computes."""

REPORTING_HOOKS = ('BannerHook', 'UnreadableImagesHook', 'PretrainedBackboneHook', 'OnlineProbe', 'ImagesHook')
"""Custom hooks that a resumed run may gain or lose; ``PretrainedBackboneHook`` acts before the first step."""

BATCH = 'train_dataloader.batch_size'
ABSENT = object()


class Change(NamedTuple):
    """A value that is another one than before; ``ABSENT`` where there is none."""

    path: str
    old: Any
    new: Any

    @property
    def is_allowed(self) -> bool:
        """Whether a run may go on so without being told."""
        return bool(LENGTH.match(self.path) or ALLOWED.match(self.path))

    @property
    def decides(self) -> bool:
        """Whether the run computes something else from here on."""
        return bool(LENGTH.match(self.path)) or not (self.is_allowed or self.path == BATCH)

    def __str__(self) -> str:
        old, new = ('absent' if value is ABSENT else repr(value) for value in (self.old, self.new))
        follows = '; schedules follow the new length' if LENGTH.match(self.path) else ''
        return f'{self.path} was {_short(old)} and is {_short(new)} now{follows}'


def changes_between(old: Config, new: Config) -> list[Change]:
    """The values that two configs do not share, of all that the Runner reads; the old is as read from a checkpoint."""
    # Through the same text form, in which classes are names.
    read = stored_config(dict(state_dict={}, meta=dict(cfg=new.pretty_text)), 'this run')
    return [
        Change(readable(path), *values)
        for path, *values in _differences(_compared(old), _compared(read or new), ())
        if not SILENT.match(readable(path))
    ]


def check_changes(old: Config, new: Config, old_processes: int, path: str, allow: bool) -> list[Change]:
    """All changes of a resumed run, to be told; ``path`` is that of the checkpoint, for the message.

    Raises:
        UserError: for one that changes what is computed, unless ``allow`` (``--allow-changes``).
    """
    changes = changes_between(old, new)
    refused = [change for change in changes if not change.is_allowed]
    if _batch(old) * old_processes == _batch(new) * get_world_size():
        refused = [change for change in refused if change.path != BATCH]
    elif not any(change.path == BATCH for change in refused):
        refused.append(Change('the number of processes (and the global batch)', old_processes, get_world_size()))
        changes.append(refused[-1])
    if refused and not allow:
        more = f', and {len(refused) - 3} more' if len(refused) > 3 else ''
        raise UserError(
            f'{path} is of a run with other settings: {"; ".join(map(str, refused[:3]))}{more}. Start it with those, '
            'or choose another folder for a new run; --allow-changes continues with the new values'
        )
    return changes


class NewSettingsHook(Hook):
    """Lets the settings of the config take effect in place of those in the checkpoint that is resumed.

    The schedules of this start are moved on to its step. The optimiser's state stays where it fits the parameters.
    """

    def __init__(self, changes: list[Change]) -> None:
        self.another_optimizer = any(change.path == 'optim_wrapper.optimizer.type' for change in changes)

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        meta, steps = checkpoint['meta'], len(runner.train_loop.dataloader)
        if meta.get('steps_per_epoch', steps) != steps:
            if meta['iter'] % meta['steps_per_epoch']:
                raise UserError(
                    f'the run had {meta["steps_per_epoch"]} steps per epoch and would have {steps} now, and the '
                    'checkpoint lies within an epoch: resume one of a whole epoch (epoch_N.pth)'
                )
            meta.update(iter=meta['epoch'] * steps, steps_per_epoch=steps)
        if runner.cfg.get('randomness', {}).get('seed') is not None:
            meta['seed'] = runner.seed
        schedules = runner.param_schedulers or []
        _move_on(schedules, meta['iter'], steps)
        checkpoint['param_schedulers'] = [schedule.state_dict() for schedule in schedules]
        stored, fresh = checkpoint['optimizer'], runner.optim_wrapper.state_dict()
        settings = ('param_groups', 'base_param_settings', 'state')
        kept = {name: value for name, value in stored.items() if name not in settings}  # a loss scaler
        if not self.another_optimizer and _sizes(stored) == _sizes(fresh):
            kept['state'] = stored['state']
        else:
            runner.logger.warning('the state of the optimiser does not fit another one, and begins anew')
        checkpoint['optimizer'] = {**fresh, **kept}


def _move_on(schedules: list[_ParamScheduler], steps: int, steps_per_epoch: int) -> None:
    """Step schedules as a run does: those in steps after every step, those in epochs after every epoch."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of steps of the optimiser that are missing
        for step in range(1, steps + 1):
            for schedule in schedules:
                if not schedule.by_epoch or step % steps_per_epoch == 0:
                    schedule.step()


def _sizes(optimizer: dict) -> list[int]:
    return [len(group['params']) for group in optimizer['param_groups']]


def _compared(cfg: Config) -> dict[str, Any]:
    sections = dict(runner_sections(cfg))
    hooks = [hook for hook in sections.get('custom_hooks') or [] if isinstance(hook, Mapping)]
    deciding = [hook for hook in hooks if str(hook.get('type')).rpartition('.')[2] not in REPORTING_HOOKS]
    return {**sections, 'custom_hooks': deciding}


def _differences(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    both = (old, new)
    if all(isinstance(value, Mapping) for value in both) or all(isinstance(value, (list, tuple)) for value in both):
        before, after = dict(children(old)), dict(children(new))
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif path[-1:] == ('type',) and {old, new} <= {'SyncBN', 'mixcl.SyncBatchNorm'}:
        return  # the same on GPUs and on CPUs
    elif old != new and repr(old) != repr(new) and {str(old), str(new)} != {str(ABSENT), 'None'}:
        yield path, old, new


def _batch(cfg: Config) -> int:
    return (cfg.get('train_dataloader') or {}).get('batch_size') or 1


def _short(text: str) -> str:
    return text if len(text) <= 60 else f'{text[:57]}...'
