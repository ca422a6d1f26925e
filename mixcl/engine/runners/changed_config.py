"""What a resumed run may do otherwise than the run that it continues."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mmengine.config import Config
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.configuration.paths import Path, children, readable, runner_sections
from mixcl.errors import UserError
from mixcl.weights.stored_config import stored_config

SILENT = re.compile(
    r'(work_dir|resume|load_from|launcher|experiment_name|default_scope|custom_imports|env_cfg|model_wrapper_cfg|cfg|'
    r'test_\w+)\b|train_cfg\.max_seconds$|.*\.(pin_memory|persistent_workers|prefetch_factor|fused)$'
)
"""Where and how a run is started; and what follows from the machine."""

LENGTH = re.compile(r'train_cfg\.max_(epochs|iters)$')
ALLOWED = re.compile(
    r'.*\.(num_workers|data_root|val_interval|val_begin)$|val_\w+|visualizer|log_\w+|activation_checkpointing|compile|'
    r'randomness\.deterministic|default_hooks\.(logger|checkpoint|timer|throughput|health|environment|visualization)\b|'
    r'default_hooks\.nonfinite\.policy$'
)
"""What decides how fast a run goes, what it reports, and when it saves or ends, but not what it computes."""

REPORTING_HOOKS = ('BannerHook', 'UnreadableImagesHook', 'PretrainedBackboneHook')
"""Custom hooks that a resumed run may gain or lose; the last one acts before the first step only."""

BATCH = 'train_dataloader.batch_size'
ABSENT = object()


class Change(NamedTuple):
    """A value that is another one than before; ``ABSENT`` where there is none."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        old, new = ('absent' if value is ABSENT else repr(value) for value in (self.old, self.new))
        return f'{self.path} was {_short(old)} and is {_short(new)} now'


def changes_between(old: Config, new: Config) -> list[Change]:
    """The values that two configs do not share, of all that the Runner reads.

    Args:
        old: as read from a checkpoint.
        new: of this start.
    """
    # Through the same text form, in which classes are names.
    read = stored_config(dict(state_dict={}, meta=dict(cfg=new.pretty_text)), 'this run')
    return [
        Change(readable(path), *values)
        for path, *values in _differences(_compared(old), _compared(read or new), ())
        if not SILENT.match(readable(path))
    ]


def check_changes(old: Config, new: Config, old_processes: int, path: str, allow: bool) -> list[str]:
    """Decide which changes a resumed run may have.

    Args:
        old: config of the run that goes on.
        new: of this start.
        old_processes: number of processes that it had.
        path: of the checkpoint, for the message.
        allow: every change (``--allow-changes``).

    Returns:
        A line for the log on each.

    Raises:
        UserError: for one that changes what is computed.
    """
    changes = changes_between(old, new)
    refused = [change for change in changes if not (LENGTH.match(change.path) or ALLOWED.match(change.path))]
    if _batch(old) * old_processes == _batch(new) * get_world_size():
        refused = [change for change in refused if change.path != BATCH]
    elif not any(change.path == BATCH for change in refused):
        refused.append(Change('the number of processes (and the global batch)', old_processes, get_world_size()))
    if refused and not allow:
        more = f', and {len(refused) - 3} more' if len(refused) > 3 else ''
        raise UserError(
            f'{path} is of a run with other settings: {"; ".join(map(str, refused[:3]))}{more}. Start it with those, '
            'or choose another --work-dir for a new run; --allow-changes continues with the new values'
        )
    return [f'{change}{"; schedules follow the new length" if LENGTH.match(change.path) else ""}' for change in changes]


class NewSettingsHook(Hook):
    """Lets the settings of the config take effect in place of those in the checkpoint that is resumed."""

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Change them."""
        take_new_settings(checkpoint, runner.optim_wrapper.state_dict())


def take_new_settings(checkpoint: dict, fresh: dict) -> None:
    """Put the settings of a new optimiser into a checkpoint.

    The optimiser's state stays where it fits, else it starts anew. A value that a schedule has changed keeps its ratio
    to the initial one. Schedules keep their position, and take their shape from the config.

    Args:
        checkpoint: is changed.
        fresh: state of the optimiser that the config describes.
    """
    stored = checkpoint['optimizer']
    for old, new in zip(stored['param_groups'], fresh['param_groups'], strict=False):
        for name in [name for name in new if f'initial_{name}' in new]:
            initial = f'initial_{name}'
            ratio = old[name] / old[initial] if old.get(initial) else 1.0
            new[name] = old[name] if new[initial] == old.get(initial) else new[initial] * ratio
    fits = _shape(stored) == _shape(fresh)
    checkpoint['optimizer'] = {**fresh, 'state': stored['state']} if fits else fresh
    for schedule in checkpoint.get('param_schedulers') or []:
        for name in set(schedule) - {'last_step', '_global_step', '_last_value'}:
            del schedule[name]


def _shape(optimizer: dict) -> list[tuple[set[str], int]]:
    """Settings of each parameter group, which tell one kind of optimiser from another, and number of parameters."""
    return [(set(group), len(group['params'])) for group in optimizer['param_groups']]


def _compared(cfg: Config) -> dict[str, Any]:
    sections = dict(runner_sections(cfg))
    hooks = [hook for hook in sections.get('custom_hooks') or [] if isinstance(hook, Mapping)]
    return {**sections, 'custom_hooks': [hook for hook in hooks if _name(hook) not in REPORTING_HOOKS]}


def _name(part: Mapping) -> str:
    return str(part.get('type')).rpartition('.')[2]


def _differences(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if all(isinstance(value, Mapping) for value in (old, new)) or all(map(_is_list, (old, new))):
        before, after = dict(children(old)), dict(children(new))
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif path[-1:] == ('type',) and {old, new} <= {'SyncBN', 'mixcl.SyncBatchNorm'}:
        return  # the same on GPUs and on CPUs
    elif old is not new and old != new and {str(old), str(new)} != {str(ABSENT), 'None'}:
        yield path, old, new


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _batch(cfg: Config) -> int:
    return (cfg.get('train_dataloader') or {}).get('batch_size') or 1


def _short(text: str) -> str:
    return text if len(text) <= 60 else f'{text[:57]}...'
