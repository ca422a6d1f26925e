"""Whether the methods learn what the papers say, on digits and Fashion-MNIST, with seeds: many small runs, and a page.

``python tools/benchmark/evidence.py --minutes 60 --jobs 2 --state STATE --out DIR`` does what is most telling first and
ends in time, with status 85 while something is left: the same command goes on, also within a run. docs/evidence.md.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from evidence_page import figure_name, has_figure, page, rows_of
from evidence_rows import TABLES, Run, all_runs, selected

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name('evidence_run.py')
TO_BE_CONTINUED = 85
"""What programs of mixcl end with that have saved all, and go on when they are started again."""

TO_SAVE, TO_WRITE, TO_BEGIN = 25, 8, 45
"""Seconds for a run to save itself, for the page, and without which no run is begun."""

SECONDS = dict(
    vit=dict(digits=0.3, fashionmnist5000=0.8, fashionmnist=0.8),
    resnet=dict(digits=0.4, fashionmnist5000=0.9, fashionmnist=10.0),
)
"""Of one thread for 1,000 images that pass the encoder forwards, where no run has been measured."""

FOLDERS = ('/usr/share/datasets/fashion-mnist', 'data/fashionmnist')
"""Where Fashion-MNIST may lie; digits come with scikit-learn."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=60, help='end within this time')
    parser.add_argument('--jobs', type=int, help='runs at a time; by default 2 on a CPU, of one thread, and 8 on a GPU')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cpu')
    parser.add_argument('--state', type=Path, required=True, metavar='DIR', help='results, and runs that are not done')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR',
                        help='of evidence.json and evidence.md; or a .json file, with the page beside it')  # fmt: skip
    parser.add_argument('--only', nargs='+', default=[], metavar='TEXT', help='rows or runs, or parts of names')
    parser.add_argument('--list', action='store_true', help='print the rows, their state and hours, and end')
    args = parser.parse_args()
    if args.jobs is not None and args.jobs < 1:
        parser.error(f'--jobs must be at least 1, not {args.jobs}')
    return args


class State:
    """What is done, in a folder: ``results/NAME.json`` of runs that are, ``runs/`` for the others."""

    def __init__(self, folder: Path) -> None:
        self.results, self.work = folder / 'evidence/results', folder / 'evidence/runs'
        for place in (self.results, self.work):
            place.mkdir(parents=True, exist_ok=True)

    def found(self, run: Run) -> dict[str, Any] | None:
        """What a run found, or None if it has to be done (again)."""
        file = self.results / f'{run.name}.json'
        found = json.loads(file.read_text()) if file.exists() else None
        return found if found and found['fingerprint'] == run.fingerprint() else None

    def work_dir(self, run: Run) -> Path:
        """Of its own for every config, since no run goes on with another."""
        return self.work / f'{run.name}-{run.fingerprint()}'

    def is_begun(self, run: Run) -> bool:
        return any(self.work.glob(f'{run.name}-*'))

    def command(self, run: Run, seconds: float, device: str, workers: int) -> list[str]:
        words = [sys.executable, WORKER, run.name, '--work-dir', self.work_dir(run), '--seconds', f'{seconds:.0f}']
        words += ['--out', self.results / f'{run.name}.json', '--device', device, '--num-workers', workers]
        return list(map(str, words))


class Workers:
    """Processes of runs, which end with this one."""

    def __init__(self, state: State, end: float, device: str, jobs: int) -> None:
        self.state, self.end, self.device = state, end, device
        cores = len(os.sched_getaffinity(0))
        self.loaders = min(cores // jobs, 2) if device == 'cuda' else 0
        self.alive: set[subprocess.Popen] = set()
        self.stopped = False

    def execute(self, run: Run) -> str:
        """Do a run: 'done', 'to be continued' or 'failed'."""
        seconds = self.end - time.monotonic() - TO_SAVE
        if self.stopped or seconds < TO_BEGIN - TO_SAVE:
            return 'to be continued'
        command = self.state.command(run, seconds, self.device, self.loaders)
        paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
        environment = dict(os.environ, OMP_NUM_THREADS='1', PYTHONPATH=os.pathsep.join(paths))
        with (self.state.work / f'{run.name}.log').open('a') as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
            self.alive.add(process)
            try:
                status = process.wait(max(self.end - time.monotonic(), 1))
            except subprocess.TimeoutExpired:  # within an evaluation: the last checkpoint stays
                process.kill()
                process.wait()
                status = TO_BE_CONTINUED
            self.alive.discard(process)
        if status == 0:
            shutil.rmtree(self.state.work_dir(run), ignore_errors=True)
        return {0: 'done', TO_BE_CONTINUED: 'to be continued'}.get(
            status, 'to be continued' if self.stopped else 'failed'
        )

    def stop(self) -> None:
        """Let all runs save themselves and end."""
        self.stopped = True
        for process in list(self.alive):
            process.terminate()


def execute_all(runs: Iterable[Run], workers: Workers, jobs: int) -> dict[str, str]:
    """Do runs in order, ``jobs`` at a time; what became of each. A failure does not keep the others from starting."""
    became: dict[str, str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        started = {pool.submit(workers.execute, run): run for run in runs}
        try:
            for future in as_completed(started):
                run = started[future]
                became[run.name] = future.result()
                if became[run.name] != 'to be continued':
                    print(f'{run.name}: {became[run.name]}', flush=True)
        except BaseException:
            workers.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return became


def has_images(data: str) -> bool:
    return data == 'digits' or any((ROOT / folder).is_dir() for folder in FOLDERS)


def seconds_per_cost(found: Mapping[str, dict]) -> dict[tuple[str, str], float]:
    """By backbone and data set, seconds of a run per unit of its cost: the median of those done, else as estimated."""
    measured: dict[tuple[str, str], list[float]] = {}
    for run in all_runs():
        if run.name in found:
            measured.setdefault((run.backbone, run.data), []).append(found[run.name]['seconds'] / run.cost)
    estimates = {(kind, data): value / 1000 for kind, values in SECONDS.items() for data, value in values.items()}
    return estimates | {key: statistics.median(values) for key, values in measured.items()}


def listing(found: Mapping[str, dict], state: State) -> list[tuple[str, str, float]]:
    """Row, state and hours of what is left of it, in order."""
    rates = seconds_per_cost(found)
    rows: dict[str, list[Run]] = {}
    for run in all_runs():
        rows.setdefault(run.row, []).append(run)
    lines = []
    for row, runs in rows.items():
        left = [run for run in runs if run.name not in found]
        begun = sum(map(state.is_begun, left))
        words = [f'{len(runs) - len(left)} of {len(runs)} done', f'{begun} begun' if begun else '']
        words += ['' if has_images(runs[0].data) or not left else 'no images here']
        lines.append(
            (row, ', '.join(filter(None, words)), sum(run.cost * rates[run.backbone, run.data] for run in left) / 3600)
        )
    return lines


def write(out: Path, found: Mapping[str, dict], left: list[tuple[str, str, float]]) -> Path:
    """The results, the page and its figures; where the page is."""
    from evidence_figure import draw  # imports torch, for which --help should not wait

    file = out if out.suffix == '.json' else out / 'evidence.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows_of(TABLES, found), indent=1) + '\n')
    file.with_suffix('.md').write_text(page(TABLES, found, left))
    for table in TABLES:
        if has_figure(table, found):
            draw(table, found).savefig(file.with_name(figure_name(table)), dpi=110)
    return file.with_suffix('.md')


def main(args: argparse.Namespace) -> None:
    end = time.monotonic() + 60 * args.minutes - TO_WRITE
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TO_BE_CONTINUED))
    state = State(args.state.resolve())
    runs = selected(args.only)
    found = {run.name: results for run in all_runs() if (results := state.found(run))}
    if args.list:
        rows = listing(found, state)
        print('\n'.join(f'{row:52s} {words:32s} {hours:7.1f} h' for row, words, hours in rows))
        print(f'{sum(hours for *_, hours in rows):.0f} hours of one run at a time are left')
        return
    jobs = args.jobs or (8 if args.device == 'cuda' else 2)
    missing = [run for run in runs if run.name not in found]
    possible = [run for run in missing if has_images(run.data)]
    print(f'{len(missing)} of {len(runs)} runs to do, {len(missing) - len(possible)} without images here', flush=True)
    became: dict[str, str] = {}
    try:
        became = execute_all(possible, Workers(state, end, args.device, jobs), jobs)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        found = {run.name: results for run in all_runs() if (results := state.found(run))}
        print(f'the page is {write(args.out, found, listing(found, state))}', flush=True)
    failed = [name for name, what in became.items() if what == 'failed']
    if 'to be continued' in became.values():
        sys.exit(TO_BE_CONTINUED)
    if failed:
        sys.exit(
            f'error: {len(failed)} run(s) failed, {failed[0]} first; last lines are in {state.work}/{failed[0]}.log'
        )


if __name__ == '__main__':
    main(parse_arguments())
