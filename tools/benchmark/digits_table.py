"""Every method beside its plain host on scikit-learn's digits, with equal epochs: makes docs/digits_table.md.

``python tools/benchmark/digits_table.py`` trains every method of digits_configs.py with three seeds, each run in a
process with one thread, and evaluates the frozen online encoder. A run that has its JSON file is not repeated, so an
interrupted command continues where it stopped. Results are trained again after a change of their config; after a
change of the code, delete them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from digits_configs import METHODS, digits_config

from mixcl.errors import UserError, reported_to_user

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name('digits_run.py')
UNTRAINED = 'mocov3'
"""Its encoder is the one that is evaluated untrained; all methods have the same."""

HOSTS = {name: 'mocov3' if name.startswith('aps') else method.host for name, method in METHODS.items()}
"""The plain host of every method, in the order of the table; None for the hosts themselves."""


@dataclass(frozen=True)
class Run:
    """One training, or the evaluation of an untrained encoder.

    Attributes:
        method: of the table; 'untrained' for no training.
        seed: of the run.
        epochs: of training.
        amp: whether it trains under bfloat16 autocast.
        folder: where its files go.
    """

    method: str
    seed: int
    epochs: int
    amp: bool
    folder: Path

    @property
    def config(self) -> str:
        """The name of the config of the run."""
        return UNTRAINED if self.method == 'untrained' else self.method

    @property
    def results_file(self) -> Path:
        return self.folder / f'{self.method}_seed{self.seed}.json'

    def results(self) -> dict | None:
        """What the run found, or None if it has to be done (again)."""
        if not self.results_file.is_file():
            return None
        found = json.loads(self.results_file.read_text())
        # Through JSON, which has no tuples.
        config = json.loads(json.dumps(digits_config(self.config).to_dict()))
        return found if found['config'] == config else None

    def execute(self) -> None:
        """Run the worker process; what it prints goes to a log file.

        Raises:
            UserError: if it fails.
        """
        log = self.results_file.with_suffix('.log')
        command = [sys.executable, WORKER, self.config, '--out', self.results_file, '--seed', self.seed]
        command += ['--work-dir', self.results_file.with_suffix(''), '--epochs', self.epochs]
        command += ['--amp'] if self.amp else []
        with log.open('w') as output:
            status = subprocess.run(
                [str(part) for part in command],
                cwd=ROOT,
                env={**os.environ, 'OMP_NUM_THREADS': '1'},
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode
        if status:
            raise UserError(f'the run of {self.method} with seed {self.seed} failed; its last lines are in {log}')


def execute_all(runs: Sequence[Run], jobs: int) -> None:
    """Execute runs, ``jobs`` at a time; after a failure or Ctrl-C no further one starts."""
    with ThreadPoolExecutor(jobs) as pool:
        started = {pool.submit(run.execute): run for run in runs}
        try:
            for number, future in enumerate(as_completed(started), start=1):
                future.result()
                run = started[future]
                print(f'{number} of {len(runs)}: {run.method}, seed {run.seed}', flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def mean_and_spread(values: Iterable[float], sign: str = '') -> str:
    """Mean and sample standard deviation of shares, in percent; ``sign='+'`` for differences."""
    percent = [100 * value for value in values]
    mean = f'{statistics.mean(percent):{sign}.1f}'
    return f'{mean} ± {statistics.stdev(percent):.1f}' if len(percent) > 1 else mean


def columns(found: Sequence[dict], encoder: str = 'online') -> list[tuple[float, ...]]:
    """kNN accuracies of all seeds, and those of the linear probe."""
    return list(zip(*(results['accuracies'][encoder] for results in found), strict=True))


def baseline_rows(found: Sequence[dict]) -> list[str]:
    rows = []
    for name, encoder in (('raw pixels', 'pixels'), ('untrained', 'online')):
        knn, linear = map(mean_and_spread, columns(found, encoder))
        rows.append(f'| {name} | {knn} | | {linear} | | | |')
    return rows


def method_row(method: str, found: Sequence[dict], of_host: Sequence[dict] | None) -> str:
    """A row of the table, from the results of every seed; differences are between runs of one seed."""
    own, host = (columns(results) for results in (found, of_host or ()))
    cells = []
    for measure, values in enumerate(own):
        differences = [mine - other for mine, other in zip(values, host[measure], strict=True)] if of_host else []
        cells += [mean_and_spread(values), mean_and_spread(differences, '+') if differences else '']
    with_gradient, without = found[0]['passes']
    cells += [f'{with_gradient} + {without}', f'{found[0]["steps"]}']
    return f'| {method if HOSTS[method] else f"**{method}**"} | {" | ".join(cells)} |'


def page(found: dict[str, list[dict]], args: argparse.Namespace) -> str:
    """The Markdown page, from results by method and seed."""
    command = f'python tools/benchmark/digits_table.py --epochs {args.epochs} --seeds {args.seeds} --jobs {args.jobs}'
    command += ' --amp' if args.amp else ''
    command += f' --methods {" ".join(args.methods)}' if args.methods != list(HOSTS) else ''
    precision = 'bfloat16 autocast' if args.amp else 'float32'
    rows = [method_row(name, found[name], found.get(HOSTS[name])) for name in args.methods]
    return f"""# Methods and their hosts on the digits

```sh
{command}
```

wrote this page; it repeats nothing that is done. `tools/benchmark/digits_configs.py` makes the configs from those of
the methods: one small ViT, the views of the digits, batches of 128, AdamW; each method takes its plain host (in bold)
and changes the table of terms alone.

{args.epochs} epoch(s) in {precision}, {args.seeds} seed(s): mean ± standard deviation over the seeds, in percent.
kNN (k = 10) and linear probe are those of the frozen online encoder on the 360 test images, so that one image is 0.3
points. "To host" is the difference to the host with the same seed, in points. APS, whose configs are its own, is
compared with MoCo v3. Epochs are equal, costs are not: "passes" are encoder passes per image and step, with gradient +
without (APS drops three quarters of the patches of each and makes four steps of a batch; local crops of DINO are a
quarter as large).

Digits are easy for raw pixels, and {args.epochs} epoch(s) are few: this compares what methods learn in the same short
time, not what they reach.

| method | kNN | to host | linear | to host | passes | steps |
|---|---|---|---|---|---|---|
{chr(10).join([*baseline_rows(found['untrained']), *rows])}
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train every method and its host on the digits; write a table.')
    parser.add_argument('--out', type=Path, default=ROOT / 'docs/digits_table.md', help='Markdown file to write')
    parser.add_argument('--work-dir', type=Path, default=ROOT / 'work_dirs/digits_table')
    parser.add_argument('--methods', nargs='+', choices=HOSTS, default=list(HOSTS), metavar='METHOD', help='and hosts')
    parser.add_argument('--seeds', type=int, default=3, help='how many')
    parser.add_argument('--jobs', type=int, default=2, help='runs at a time, one core each')
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('--amp', action='store_true', help='train under bfloat16 autocast')
    args = parser.parse_args()
    for name in ('seeds', 'jobs', 'epochs'):
        if getattr(args, name) < 1:
            raise UserError(f'--{name} must be at least 1, not {getattr(args, name)}')
    args.methods = [name for name in HOSTS if name in args.methods]  # each once, hosts first
    return args


def main() -> None:
    args = parse_arguments()
    folder = args.work_dir.resolve() / f'{args.epochs}_epochs_{"bfloat16" if args.amp else "float32"}'
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(args.seeds)
    runs = {name: [Run(name, seed, args.epochs, args.amp, folder) for seed in seeds] for name in args.methods}
    runs['untrained'] = [Run('untrained', seed, 0, False, folder) for seed in seeds]
    # Seed by seed, so that an unfinished table has something of every method.
    by_seed = [run for together in zip(*runs.values(), strict=True) for run in together]
    missing = [run for run in by_seed if run.results() is None]
    print(f'{len(missing)} of {len(by_seed)} runs to do, {args.jobs} at a time', flush=True)
    try:
        execute_all(missing, args.jobs)
    except KeyboardInterrupt:
        print('interrupted: the same command does what is missing', file=sys.stderr)
        sys.exit(130)
    found = {name: [result for run in group if (result := run.results())] for name, group in runs.items()}
    args.out.write_text(page(found, args))
    print(f'Written: {args.out}')


if __name__ == '__main__':
    with reported_to_user():
        main()
