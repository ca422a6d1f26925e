"""Where the time of a step goes on a GPU: kernels by kind, by phase of the step, and the time without any."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from mixcl_step import BACKWARD, watch_parts
from synthetic import SyntheticIteration
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, record_function
from torch.profiler import profile as torch_profile

KINDS = {
    'attention': 'flash|fmha|attention|sdpa',
    'matrix products': 'gemm|cutlass|xmma|nvjet|cublas|addmm|::mm|bmm|linear|conv',
    'norms': 'norm',
    'copies': 'copy|memcpy|memset|cat|index|gather|scatter',
    'reductions': 'reduce|sum',
    'elementwise': 'elementwise|vectorized|triton|gelu|multi_tensor',
}
"""Patterns in names of kernels, of which the first that fits decides."""
MOST = 15
"""Number of kernels that are listed."""


class Ranges:
    """Marks the calls of methods as phases in a profile."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def wrap(self, owner: Any, name: str, phase: str) -> None:
        """Mark the calls of a method."""
        method = getattr(owner, name)
        self.names.add(phase)

        def marked(*args: Any, **kwargs: Any) -> Any:
            with record_function(phase):
                return method(*args, **kwargs)

        setattr(owner, name, marked)


def profiled(iteration: SyntheticIteration, device: str, steps: int) -> dict[str, dict[str, Any]]:
    """Profile steps; return shares by phase and by kind, the idle share, and the milliseconds of single kernels.

    On a CPU, operations stand for kernels.
    """
    ranges = Ranges()
    watch_parts(iteration.model, iteration.optimizer, (), ranges)
    ranges.wrap(iteration.model.recipe, 'build', 'mixing')
    ranges.wrap(iteration.model.target, 'update', 'EMA')
    iteration.run()
    with profiling(device) as profiler:
        for _ in range(steps):
            iteration.run()
        if device == 'cuda':
            torch.cuda.synchronize()
    phases, kinds, kernels = Counter[str](), Counter[str](), Counter[str]()
    events = profiler.events() or ()
    marks = ranges.names | {event.name for event in events if event.is_user_annotation}
    for event in events:
        if event.device_type != DeviceType.CPU:
            continue
        ran = [(kernel.name, kernel.duration) for kernel in event.kernels]
        for name, duration in ran if device == 'cuda' else [(event.name, event.self_cpu_time_total)]:
            if name not in marks:  # which a GPU's profile has beside the kernels in them
                phases[phase_of(event, ranges.names)] += duration
                kinds[kind_of(name)] += duration
                kernels[short(name)] += duration
    found: dict[str, dict[str, Any]] = dict(phases=shares(phases), kinds=shares(kinds))
    if device == 'cuda':
        found['gpu'] = dict(idle=idle_share(events), kernels_per_step=len(gpu_intervals(events)) / steps)
    return found | dict(kernels={name: value / 1000 / steps for name, value in kernels.most_common(MOST)})


def profiling(device: str, host: bool = True) -> torch_profile:
    """Return torch's profiler; without ``host``, of kernels alone, which hardly slows a run down."""
    activities = [ProfilerActivity.CUDA] * (device == 'cuda')
    return torch_profile(activities=activities + [ProfilerActivity.CPU] * (host or not activities), acc_events=True)


def phase_of(event: Any, names: set[str]) -> str:
    """Return the innermost phase that an operation is in; those of the autograd engine's thread are in none."""
    while event is not None:
        if event.name in names:
            return event.name
        if event.name.startswith('autograd::engine'):
            return BACKWARD
        event = event.cpu_parent
    return 'other'


def short(name: str) -> str:
    """Return the part of a kernel's name that tells it from others."""
    return re.sub(r'void |at::native::|\(anonymous namespace\)::|<unnamed>::', '', name)[:160]


def kind_of(name: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, name, re.IGNORECASE)), 'other')


def shares(values: Counter[str]) -> dict[str, float]:
    return {name: value / values.total() for name, value in values.most_common() if value}


def gpu_intervals(events: Iterable[Any]) -> list[tuple[float, float]]:
    """Return start and end of all kernels and copies, in microseconds."""
    return sorted(
        (event.time_range.start, event.time_range.end)
        for event in events
        if event.device_type == DeviceType.CUDA and not event.is_user_annotation
    )


def idle_share(events: Iterable[Any], last: float = 1.0) -> float | None:
    """Return the share of the ``last`` part of the time from the first to the last kernel in which none ran."""
    intervals = gpu_intervals(events)
    if not intervals:
        return None
    begin = intervals[0][0] + (1 - last) * (intervals[-1][1] - intervals[0][0])
    intervals = [interval for interval in intervals if interval[0] >= begin]
    busy, end = 0.0, intervals[0][0]
    for start, stop in intervals:
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return 1 - busy / (end - intervals[0][0])
