"""Schedules that do not fit the length of a run."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config


def schedule_notes(cfg: Config) -> list[str]:
    """Say which schedules end, begin or switch after the run does; a sentence each.

    Short trial runs of a long recipe are legitimate, so these are no errors.
    """
    schedules = cfg.get('param_scheduler') or []
    schedules = [schedules] if isinstance(schedules, Mapping) else schedules
    train = cfg.get('train_cfg') or {}
    notes = []
    for number, schedule in enumerate(schedules):
        unit = 'epochs' if schedule.get('by_epoch', True) else 'iters'
        length = train.get(f'max_{unit}')
        if not length:  # the steps of a run that counts epochs depend on the data
            continue
        notes += [
            f'param_scheduler[{number}] ({schedule.get("type")}) {problem}, but the run has {length} {unit} '
            f'(train_cfg.max_{unit})'
            for problem in _problems(schedule, length)
        ]
    return notes


def _problems(schedule: Mapping[str, Any], length: int) -> Iterator[str]:
    for name in ('begin', 'warmup'):
        if schedule.get(name, 0) >= length and schedule.get(name, 0) > 0:
            yield f'has {name}={schedule[name]}'
    for name in ('end', 'T_max'):
        if schedule.get(name, 0) > length:
            yield f'has {name}={schedule[name]}'
    late = [epoch for epoch in schedule.get('milestones', ()) if epoch >= length]
    if late:
        yield f'has milestones={late}'
