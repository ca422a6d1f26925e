"""Check if methods learn what the papers say, on digits and Fashion-MNIST, with seeds: many small runs, and a page.

``python tools/benchmark/evidence.py --minutes 60 --out docs/evidence`` works through the tables in order and ends in
time, with status 85 while something is left. The same command then continues, also within a run. See docs/evidence.md.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import fcntl
import json
import math
import os
import shutil
import subprocess
import sys
import time
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from evidence_measures import measured, packed, unpacked
from evidence_methods import DATA, METHODS
from evidence_page import write
from evidence_statistics import accuracies, accuracy
from evidence_tables import TABLES, Run, wanted

from mixcl import train
from mixcl.engine.runners.data_workers import kill_workers
from mixcl.errors import RunStopped, reported_to_user
from mixcl.files import written_whole
from mixcl.recipes.subject import default_encoder

TO_BEGIN, TO_MEASURE, TO_FINE_TUNE = 60, 120, 1800
"""Seconds that must be left to begin a run; seconds reserved for measuring, and for fine-tuning."""
TO_LOOK_AGAIN = 20
"""Seconds after which a process with nothing to do looks again."""


class State:
    """Progress, in a folder: ``results/NAME.json`` of finished runs, ``runs/`` of the others."""

    def __init__(self, folder: Path) -> None:
        self.results, self.work = folder / 'results', folder / 'runs'
        for place in (self.results, self.work):
            place.mkdir(parents=True, exist_ok=True)

    def found(self) -> dict[str, dict[str, Any]]:
        """Read the results by :meth:`~evidence_tables.Run.key`; damaged files are reported and left out."""
        found = {}
        for file in sorted(self.results.glob('*.json')):
            try:
                result = json.loads(file.read_text())
                answers = {name: unpacked(right) for name, right in result['answers'].items()}
                accuracy(result), dict(result['settings']), answers and answers[result['encoder']]  # raise if damaged
                found[result['key']] = dict(result, seconds=float(result['seconds']))
            except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
                print(f'{file} is damaged and counts as not done: {error!r}', file=sys.stderr)
        return found

    @contextmanager
    def locked(self, run: Run) -> Iterator[bool]:
        """Lock a run and those that share its training; yield False if another process has done so."""
        with (self.work / f'{run.training().name}.lock').open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    @contextmanager
    def taken(self, run: Run) -> Iterator[bool]:
        """Lock a run; yield False if another process has locked or just done it."""
        with self.locked(run) as ours:
            yield ours and run.key() not in self.found()

    def is_taken(self, run: Run) -> bool:
        with self.locked(run) as ours:
            return not ours


def perform(run: Run, state: State, seconds: float) -> None:
    """Train (except a baseline), measure, and write the result. RunStopped: the run is saved, and continues later."""
    cfg, method, folder = run.config(), METHODS[run.method], state.work / run.training().key()
    for part in (cfg.val_dataloader, cfg.val_cfg.bank_dataloader):
        part.update(num_workers=0, persistent_workers=False)
    cfg.train_dataloader.update(num_workers=1, persistent_workers=True)  # loading images costs a quarter of a step
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else 'cpu'
    result: dict[str, Any] = dict(name=run.name, key=run.key(), settings=run.settings, device=device)
    model, clock = None, folder / 'seconds.json'
    before, begun = float(clock.read_text() or 0) if clock.exists() else 0.0, core_seconds()
    if not method.baseline:
        folder.mkdir(exist_ok=True)
        cfg.dump(folder / 'config.py')
        try:
            runner = train(folder / 'config.py', work_dir=str(folder), resume='auto', max_time=f'{seconds:.0f}s')
        finally:
            kill_workers()
            clock.write_text(json.dumps(before + core_seconds() - begun))
        model = runner.model
        result['steps'] = runner.max_iters
    found = measured(model, method.baseline, cfg, dict(run.settings), DATA[run.data].probe)
    result |= dict(
        seconds=round(before + core_seconds() - begun, 1),
        encoder=default_encoder(cfg.config_name, cfg.model.backbone, [*found]),
        accuracies={name: accuracies(right) for name, right in found.items()},
        # Runs that are only for choices are not judged again.
        answers={} if run.held_out else {name: packed(right) for name, right in found.items()},
    )
    with written_whole(state.results / f'{run.name}.json') as file:
        file.write(f'{json.dumps(result)}\n'.encode())
    if not run.held_out or 'fine_tuning_rate' not in dict(method.chosen):  # else rates are tried on the same training
        shutil.rmtree(folder, ignore_errors=True)


def core_seconds() -> float:
    """Return the CPU time of this process and of its data workers that have ended."""
    return sum(os.times()[:4])


def work(state: State, only: list[str], end: float) -> tuple[bool, list[str]]:
    """Do runs in order while there is time; return whether something is left, and which runs failed."""
    tables = tuple(table for table in TABLES if torch.cuda.is_available() or not table.on_gpu)
    failed: list[str] = []
    left_to_others: set[Run] = set()
    while True:
        # Asked before the results are read: what others finish may decide a setting, and so open further runs.
        others_work = any(map(state.is_taken, left_to_others))
        runs = (run for run in wanted(tables, state.found()) if any(fnmatch(run.name, f'*{text}*') for text in only))
        run = next((run for run in runs if run.name not in failed and run not in left_to_others), None)
        if end - time.monotonic() < TO_BEGIN or not (run or others_work):
            return bool(run or others_work), failed
        if not run:
            time.sleep(TO_LOOK_AGAIN)
            continue
        with state.taken(run) as ours:
            if not ours:
                left_to_others.add(run)
                continue
            try:
                to_measure = TO_FINE_TUNE if 'fine_tuning_rate' in dict(run.settings) else TO_MEASURE
                perform(run, state, max(end - time.monotonic() - to_measure, 1))
                print(f'{run.name}: done', flush=True)
            except RunStopped:
                return True, failed
            except Exception as error:  # must not keep other runs from being done
                traceback.print_exc()
                print(f'{run.name}: failed: {error!r}', flush=True)
                failed.append(run.name)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=60.0, help='begin nothing that would end later')
    parser.add_argument('--jobs', type=int, default=1, help='runs at a time; more than one for a GPU')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='results, runs that are not done, page')
    parser.add_argument('--only', nargs='+', default=['*'], metavar='TEXT', help='parts of names, such as pca*digits')
    args = parser.parse_args()
    if not 0 < args.minutes < math.inf:
        parser.error(f'--minutes must be a number of minutes above 0, not {args.minutes:g}')
    return args


def main(args: argparse.Namespace) -> int:
    if 'OMP_NUM_THREADS' not in os.environ:
        torch.set_num_threads(1)
    end, state = time.monotonic() + 60 * args.minutes, State(args.out.resolve())
    if args.jobs > 1:
        words = [sys.executable, *sys.argv, '--jobs', '1']
        status = max(process.wait() for process in [subprocess.Popen(words) for _ in range(args.jobs)])
    else:
        left, failed = work(state, args.only, end)
        status = RunStopped.exit_status if left else bool(failed)
    print(f'the page is {write(args.out, state.found())}', flush=True)
    return status


if __name__ == '__main__':
    arguments = parse_arguments()
    with reported_to_user():
        status = main(arguments)
    sys.exit(status)
