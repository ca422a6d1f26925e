"""States of hooks in checkpoints: those of users' hooks, and how long early stopping has waited."""

from collections.abc import Iterator, Sequence
from typing import Any

from mmengine.hooks import EarlyStoppingHook, Hook
from mmengine.runner import Runner
from torch import Tensor

from mixcl.quiet_log import FOR_PEOPLE
from mixcl.weights import make_plain

LIBRARIES = ('mixcl', 'mmengine', 'mmpretrain', 'mmdet', 'mmcv')
"""Packages whose other hooks keep what they need in the checkpoint themselves, or find it out when a run resumes."""

WAITING = ('wait_count', 'best_score')


class HookStates(Hook):
    """Keeps in checkpoints what hooks return from ``state_dict()``; a resumed run gives it to ``load_state_dict``.

    Users' hooks without the two, whose attributes change in training, cannot be continued: a warning says so at the
    first checkpoint, and :func:`~mixcl.engine.runners.same_run.check_same_run` refuses it. A run that early stopping
    has ended is over, until a new patience or threshold lets it go on.
    """

    priority = 'LOWEST'  # so that the hooks have begun, and have seen a validation

    def __init__(self) -> None:
        self._begun: dict[str, dict[str, str]] = {}
        self._told: set[str] = set()

    def before_train(self, runner: Runner) -> None:
        self._begun = {name: _attributes(hook) for name, hook in _named(runner.hooks)}

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        found = {name: state for name, hook in _named(runner.hooks) if (state := _state(hook)) is not None}
        make_plain(found)
        states = {name: state for name, state in found.items() if _is_plain(state)}
        no_data = 'state_dict() returns more than numbers, texts, lists, dicts and CPU tensors'
        lost = [f'{name}.{no_data}' for name in found if name not in states]
        for name, hook in _named(runner.hooks):
            now = _attributes(hook)
            before = self._begun.get(name, now)
            changed = ', '.join(attribute for attribute in now if now[attribute] != before.get(attribute))
            if changed:
                lost.append(f'{name} changes {changed} in training, and has no state_dict() and load_state_dict(state)')
        for sentence in sorted({*lost} - self._told):
            self._told.add(sentence)
            runner.logger.warning(f'--resume needs --allow-changes, since {sentence}')
        if states or lost:
            checkpoint['hooks'] = dict(states=states, lost=lost)

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        states = checkpoint.get('hooks', {}).get('states', {}) if runner._resume else {}
        for name, hook in _named(runner.hooks):
            if name in states and isinstance(hook, EarlyStoppingHook):
                vars(hook).update(states[name])
                _end_again(hook, runner)
            elif name in states:
                hook.load_state_dict(states[name])


def _named(hooks: Sequence[Hook]) -> Iterator[tuple[str, Hook]]:
    """Yield the hooks with their names in a checkpoint."""
    names = [type(hook).__name__ for hook in hooks]
    for place, (name, hook) in enumerate(zip(names, hooks, strict=True)):
        yield name + (f' {number + 1}' if (number := names[:place].count(name)) else ''), hook


def _state(hook: Hook) -> Any:
    if isinstance(hook, EarlyStoppingHook):
        return {name: getattr(hook, name) for name in WAITING}
    return hook.state_dict() if hasattr(hook, 'load_state_dict') else None


def _attributes(hook: Hook) -> dict[str, str]:
    """Return the attributes of a user's hook without a state of its own, as texts that change with them."""
    kept = hasattr(hook, 'load_state_dict') or type(hook).before_save_checkpoint is not Hook.before_save_checkpoint
    if kept or type(hook).__module__.partition('.')[0] in LIBRARIES:
        return {}
    return {name: repr(value) for name, value in vars(hook).items()}


def _is_plain(value: Any) -> bool:
    if type(value) in (dict, list, tuple):
        return all(map(_is_plain, [*value, *value.values()] if isinstance(value, dict) else value))
    return value is None or type(value) in (bool, int, float, str) or (isinstance(value, Tensor) and value.is_cpu)


def _end_again(hook: EarlyStoppingHook, runner: Runner) -> None:
    reached = hook.stopping_threshold is not None and hook.rule_map[hook.rule](hook.best_score, hook.stopping_threshold)
    if reached or hook.wait_count >= hook.patience:
        runner.train_loop.stop_training = True
        runner.logger.info('early stopping has ended this run; raise its patience or threshold to go on',
                           extra=FOR_PEOPLE)  # fmt: skip
