"""All that a GPU whose time is short should tell, the most important figures first.

``python tools/benchmark/gpu_day.py --minutes 9 --out DIR`` goes through the parts of :data:`PARTS` in order. A worker
(gpu_worker.py) does them in one process; if it dies or hangs, another one goes on with the next part. Every figure is a
line of ``DIR/figures.jsonl`` at once, and a line of the table at the end. The same command again does the parts that
were not begun; ``--only NAMES`` does these. ``--device cpu`` rehearses everything at small size.
"""

import argparse
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEP_CONFIGS = ('patchmix/vit-s16_in1k', 'patchmix/vit-b16_in1k', 'simclr/vit-s16_in1k', 'mocov3/r50_in1k')
PARTS = {
    'start': 30,
    'ceilings': 5,
    'right-losses': 12,
    'right-loop': 18,
    **{f'steps:{name}': 18 for name in STEP_CONFIGS},
    f'profile:{STEP_CONFIGS[0]}': 20,
    'end-to-end:8': 35,
    'end-to-end:15': 25,
    **{f'compiled:{name}': 50 for name in (*STEP_CONFIGS[:2], STEP_CONFIGS[3], STEP_CONFIGS[2])},
    'tests': 60,
}
"""Seconds that a part takes on an H100, by estimate; it is begun if so many are left, and ended after twice as many."""
SLOWEST = dict(cuda=30, cpu=120)
"""Seconds that every part may take."""
RESERVE = 5
"""Seconds left for processes to end."""


class Day:
    """The figures of a day, which outlive its processes."""

    def __init__(self, out: Path, device: str, end: float) -> None:
        self.out, self.device, self.end = out, device, end
        self.file = out / 'figures.jsonl'
        self.worker: Worker | None = None

    def lines(self) -> list[dict[str, Any]]:
        """Read the figures; a line that was cut off is left out."""
        return read_figures(self.file) if self.file.exists() else []

    def left(self, only: Sequence[str] = ()) -> list[str]:
        """Return the parts that were not begun, or those whose names begin so."""
        begun = {line['part'] for line in self.lines()}
        return [part for part in PARTS if (part.startswith(tuple(only)) if only else part not in begun)]

    def note(self, part: str, **values: Any) -> None:
        with self.file.open('a') as file:
            file.write(json.dumps(dict(part=part) | values) + '\n')

    def do(self, part: str) -> str:
        """Do a part; return what became of it."""
        left = self.end - time.time()
        if left < PARTS[part]:
            return 'not begun: too little time'
        self.note(part, begun=time.strftime('%H:%M:%S'))
        limit = min(left, max(SLOWEST[self.device], 2 * PARTS[part]))
        if part == 'tests':
            self.close()  # their memory is for the tests
            return run_tests(self.device, self.out / 'tests.log', limit)
        if self.worker is None:
            self.worker = Worker(self.device, self.out)
        became = self.worker.do(part, limit)
        if self.worker.ended:
            self.close()
        return became

    def close(self) -> None:
        if self.worker:
            self.worker.kill()
        self.worker = None


def read_figures(file: Path) -> list[dict[str, Any]]:
    found = []
    for line in file.read_text().splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


class Worker:
    """A process that does one part after the other; its log is ``worker.log``."""

    def __init__(self, device: str, out: Path) -> None:
        self.process = started([str(HERE / 'gpu_worker.py'), device, str(out)], out / 'worker.log')
        self.ended = False

    def do(self, part: str, limit: float) -> str:
        """Let the process do a part; return its answer, or how it ended."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f'{part}\n'.encode())
            self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            answered = selector.select(limit)
        answer = self.process.stdout.readline().decode().strip() if answered else ''
        self.ended = not answer or answer.startswith('broken')
        if answer:
            return answer
        return f'died with status {self.process.wait()}' if answered else f'killed after {limit:.0f} s'

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # and the processes it has left behind
        self.process.wait()


def started(command: list[str], log: Path) -> subprocess.Popen:
    """Start a Python program that finds this tree first; a new process group, with pipes and a log."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])
    with log.open('a') as output:
        return subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=dict(os.environ, PYTHONPATH=paths), stderr=output,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip


def run_tests(device: str, log: Path, limit: float) -> str:
    """Run tests/gpu in a process of its own; return the last line."""
    words = ['-m', 'pytest', '-m', 'gpu', 'tests/gpu', '--device', device, '-p', 'no:cacheprovider', '--durations=0']
    process = started(words, log)
    try:
        output = process.communicate(timeout=limit)[0].decode()
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b'').decode() + f'\nkilled after {limit:.0f} s'
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with log.open('a') as file:
        file.write(output)
    last = (output.strip().splitlines() or ['no output'])[-1]
    return f'done: {last}' if process.returncode == 0 else f'failed: {last}'


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line per figure, and per part that did not end well."""
    for line in lines:
        part, figure, became = line.pop('part'), line.pop('figure', ''), str(line.pop('became', ''))
        values = ', '.join(f'{name} {shown(value)}' for name, value in line.items() if name != 'begun')
        if figure or became not in ('', 'done'):
            yield f'{part}{f" ({figure})" if figure else ""}: {became or values}'


def shown(value: Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=9, help='end within this time')
    parser.add_argument('--begun', type=float, help='when the time began, by `date +%%s`; default: now')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='figures and logs')
    parser.add_argument('--only', nargs='+', metavar='NAME', help='parts, or beginnings of their names')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cuda')
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    begun = args.begun or time.time()
    day = Day(args.out.resolve(), args.device, begun + 60 * args.minutes - RESERVE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parts = day.left(args.only or ())
    day.note('begin', figure='day', device=args.device, seconds_before=time.time() - begun)
    failed = False
    try:
        for part in parts:
            start = time.time()
            became = day.do(part)
            failed |= not became.startswith(('done', 'not begun'))
            print(f'{part}: {became} ({time.time() - start:.0f} s)', flush=True)
            if not became.startswith('not begun'):
                day.note(part, became=became, seconds=time.time() - start)
    finally:
        day.close()
        print(*table(day.lines()), sep='\n', flush=True)
    sys.exit(failed)


if __name__ == '__main__':
    main()
