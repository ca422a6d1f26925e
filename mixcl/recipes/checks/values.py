"""Values that make no sense, although a constructor takes them."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config

from mixcl.recipes.paths import Path, runner_sections, walk

LATEST_OFFSETS = dict(begin=-1, warmup=-1, milestones=-1, end=0, T_max=0)
"""Largest value of each option of a schedule, as an offset from the length of the run."""


def empty_pipelines(cfg: Config) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each pipeline without transforms, which data sets accept until they load an image."""
    for name, section in runner_sections(cfg):
        for path, node in walk(section, (name,)) if name.endswith('_dataloader') else ():
            if path[-1] == 'pipeline' and not (isinstance(node, (list, tuple)) and node):
                yield path, node


def schedule_notes(cfg: Config) -> list[str]:
    """List, a sentence each, schedules that begin, switch or end after the run does, or all end before it.

    These are no errors: short trial runs of a long recipe are legitimate.
    """
    schedules = cfg.get('param_scheduler') or []
    schedules = [schedules] if isinstance(schedules, Mapping) else schedules
    notes = []
    for number, schedule in enumerate(schedules):
        unit = 'epochs' if schedule.get('by_epoch', True) else 'iters'
        length = (cfg.get('train_cfg') or {}).get(f'max_{unit}')
        if not length:  # the steps of a run that counts epochs depend on the data
            continue
        for name, margin in LATEST_OFFSETS.items():
            value = schedule.get(name) or 0
            if max(value if isinstance(value, (list, tuple)) else [value]) > length + margin:
                notes.append(
                    f'param_scheduler[{number}] ({schedule.get("type")}) has {name}={value}, but the run has {length} '
                    f'{unit} (train_cfg.max_{unit})'
                )
    ends = [schedule.get('end') for schedule in schedules]
    epochs = (cfg.get('train_cfg') or {}).get('max_epochs') or 0
    if ends and all(ends) and all(schedule.get('by_epoch', True) for schedule in schedules) and 0 < max(ends) < epochs:
        notes.append(
            f'the last param_scheduler ends after epoch {max(ends)} of {epochs}; afterwards its values stay constant'
        )
    return notes
