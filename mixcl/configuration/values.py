"""Values that cannot be meant, although a constructor takes them, and sections of a wrong shape."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import Path, runner_sections, walk

COUNT = ('a whole number at least 1', lambda value: value >= 1 and value % 1 == 0)
COUNTED = ('accumulative_counts', 'batch_size', 'hidden_channels', 'max_epochs', 'max_iters', 'val_interval')
RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(COUNTED, COUNT),
    **dict.fromkeys(('num_workers', 'warmup'), ('a number 0 or more', lambda value: value >= 0)),
    'interval': ('a whole number at least 1, or -1 for never', lambda value: value == -1 or COUNT[1](value)),
    'drop_path_rate': ('a number between 0 and 1', lambda value: 0 <= value <= 1),
    'max_norm': ('a number above 0', lambda value: value > 0),
}
"""By the name of the key: what is allowed, in words and as a test."""

LAST = dict(begin=-1, warmup=-1, milestones=-1, end=0, T_max=0)
"""How far options of schedules may reach, counted from the length of the run."""


DICTS = ('data_preprocessor', 'default_hooks', 'env_cfg', 'model', 'optim_wrapper', 'randomness', 'visualizer')
"""Besides the sections whose names end in ``_cfg`` or ``_dataloader``."""

LISTS = ('custom_hooks', 'param_scheduler', 'val_evaluator', 'test_evaluator')
"""Lists of dicts; all but the first may be a single dict."""

TYPED = ('default_hooks', 'custom_hooks', 'param_scheduler')
"""Each of their dicts says what it builds."""


def wrong_values(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dict whose values cannot be meant, and what they should have been, in words."""
    for key, value in node.items():
        words, allowed = RANGES.get(key, ('', None))
        if allowed and (isinstance(value, str) or (isinstance(value, (int, float)) and not allowed(value))):
            yield key, words
    width, heads = node.get('embed_dims'), node.get('num_heads')
    if isinstance(width, int) and isinstance(heads, int) and (heads < 1 or width % heads):
        yield 'num_heads', f'a divisor of embed_dims={width}'


def wrong_shapes(cfg: Config) -> Iterator[tuple[Path, Any, str]]:
    """Yield what has a wrong shape: where it stands, its value, and what it must be, in words."""
    for name, section in runner_sections(cfg):
        if section is None:
            continue
        is_list = isinstance(section, (list, tuple))
        if name in LISTS and not is_list and (name == LISTS[0] or not isinstance(section, Mapping)):
            yield (name,), section, 'a list of dicts'
        elif (name in DICTS or name.endswith(('_cfg', '_dataloader'))) and not isinstance(section, Mapping):
            yield (name,), section, 'a dict'
        elif name in TYPED:
            single = name == 'param_scheduler' and not is_list
            parts = enumerate(section) if is_list else [(None, section)] if single else section.items()
            for key, part in parts:
                typed = isinstance(part, Mapping) and 'type' in part
                if not typed and not (part is None and name == 'default_hooks'):
                    yield (name,) if key is None else (name, key), part, 'a dict with a type'
        elif name.endswith('_dataloader'):
            yield from _wrong_data((name,), section)


def _wrong_data(place: Path, loader: Mapping[str, Any]) -> Iterator[tuple[Path, Any, str]]:
    if 'dataset' in loader and not isinstance(loader['dataset'], Mapping):  # recipes get theirs later
        yield (*place, 'dataset'), loader['dataset'], 'a dict'
    for path, node in walk(loader, place):
        if path[-1] == 'pipeline' and (not isinstance(node, (list, tuple)) or len(node) == 0):
            yield path, node, 'a list of transforms, at least one'


def schedule_notes(cfg: Config) -> list[str]:
    """Say which schedules begin, switch or end after the run does; a sentence each.

    These are no errors: short trial runs of a long recipe are legitimate.
    """
    schedules = cfg.get('param_scheduler') or []
    notes = []
    for number, schedule in enumerate([schedules] if isinstance(schedules, Mapping) else schedules):
        unit = 'epochs' if schedule.get('by_epoch', True) else 'iters'
        length = (cfg.get('train_cfg') or {}).get(f'max_{unit}')
        if not length:  # the steps of a run that counts epochs depend on the data
            continue
        for name, margin in LAST.items():
            value = schedule.get(name) or 0
            if max(value if isinstance(value, (list, tuple)) else [value]) > length + margin:
                notes.append(
                    f'param_scheduler[{number}] ({schedule.get("type")}) has {name}={value}, but the run has {length} '
                    f'{unit} (train_cfg.max_{unit})'
                )
    return notes
