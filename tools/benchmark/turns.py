"""Parts that the benchmarks share: options, sides that take turns, rows in a file."""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from mixcl.command_line import add_overrides


def common_options(device: bool = True) -> argparse.ArgumentParser:
    """Build a parent parser with the options that the benchmarks have in common."""
    parser = argparse.ArgumentParser(add_help=False)
    default = 'cuda' if torch.cuda.is_available() else 'cpu'
    if device:
        parser.add_argument('--device', choices=['cpu', 'cuda'], default=default, help='default: cuda if there is one')
    parser.add_argument('--repeats', type=int, default=5, help='turns of each side, of which the median is printed')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    add_overrides(parser)
    return parser


def median_seconds(
    calls: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Time calls that take turns, so that other load on the machine affects all; the first turn warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            start = clock()
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            times[name].append(clock() - start)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def keep_rows(rows: list[dict], out: Path | None) -> None:
    """Write the rows so far, so that they outlive the program."""
    if out:
        out.write_text(json.dumps(rows, indent=1))
