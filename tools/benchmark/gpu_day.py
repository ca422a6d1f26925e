"""All checks to make on a GPU whose time is short: is mixcl right, is it fast, does it learn.

``python tools/benchmark/gpu_day.py --minutes 9 --out DIR`` runs the tests and benchmarks of :func:`plan` in order of
value and keeps the output of each in ``DIR/NN-NAME.log``. Items that succeeded are not repeated. An item is not begun
if too little time is left, so that the day ends in time. On a CPU the sizes are small, to see that everything runs.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RESERVE = 5
"""Seconds left for processes to end."""


class Item(NamedTuple):
    """Command after ``python``, begun if ``seconds`` are left, and killed after them.

    ``{minutes}`` stands for the time left of the day, ``{out}`` for the folder of the day.
    """

    name: str
    command: str
    seconds: float


def plan(device: str, pythons: Sequence[str] = ()) -> list[Item]:
    """List the items in order of value; ``pythons`` are interpreters of other toolkits, for peers.py."""
    peers = ' '.join(f'--python {entry}' for entry in pythons)

    def check(name: str, seconds: float) -> Item:
        tests = 'tests/gpu/test_gpu_runs.py' if name in ('continue', 'nan') else 'tests/gpu/test_gpu_steps.py'
        return Item(name, f'-m pytest -m gpu {tests} -k {name} --device {device}', seconds)

    def measure(name: str, command: str, seconds: float) -> Item:
        return Item(name, f'tools/benchmark/{command}', seconds)

    checks = [check(name, 150) for name in ('losses', 'views', 'nan', 'continue')]
    step, forward, dropping = 'step.py --device', 'evaluation.py forward --device', 'token_dropping.py --device'
    if device == 'cpu':
        digits = 'configs/mocov3/vit-xs4_digits.py --repeats 1'
        return [
            *checks,
            measure('step', f'{step} cpu {digits} --smoke --batch-size 4 --precisions fp32', 150),
            measure('evaluation', f'{forward} cpu --batch-size 4 --image-size 32 {digits}', 150),
            measure('patch-dropping', f'{dropping} cpu {digits}', 150),
            measure('loader', 'loader.py --sizes 500x375 --images 4 --repeats 1 --device cpu', 150),
            measure('peers', f'peers.py --case simclr:resnet18 --epochs 1 --images 8 --batch-size 4 {peers}', 150),
        ]
    patchmix, bf16 = 'configs/patchmix/vit-s16_in1k.py', '--steps 5 --precisions bf16 --compile'
    tf32 = '--steps 5 --precisions fp32 --compile'
    hosts = f'configs/mocov3/vit-s16_in1k.py {patchmix} --batch-size 64 --amp'
    evidence = 'evidence.py --minutes {minutes} --out {out}/evidence --jobs 8'
    return [
        *checks,
        measure('step-vit-s16-bf16', f'{step} cuda {patchmix} --batch-size 128 {bf16}', 180),
        measure('step-vit-b16-bf16', f'{step} cuda configs/patchmix/vit-b16_in1k.py --batch-size 128 {bf16}', 210),
        check('compiled', 120),
        measure('evaluation', f'{forward} cuda {patchmix} --batch-size 256', 60),
        measure('patch-dropping', f'{dropping} cuda {hosts} --out {{out}}/token_dropping.json', 90),
        measure('loader', 'loader.py --device cpu', 120),
        measure('step-r50-bf16', f'{step} cuda configs/mocov3/r50_in1k.py --batch-size 256 {bf16}', 180),
        measure('step-vit-s16-fp32', f'{step} cuda {patchmix} --batch-size 128 {tf32}', 180),
        measure('loader-with-workers', 'loader.py --num-workers 1 2 4 8 --sizes 500x375 --images 256', 120),
        measure('peers', f'peers.py --device cuda --amp --images 2048 --batch-size 128 --num-workers 12 {peers}', 240),
        measure('evidence', evidence, 240),
    ]


def run_day(items: list[Item], out: Path, end: float) -> dict[str, str]:
    """Run items that are not done and fit until ``end`` (of ``time.monotonic()``); return what became of each."""
    out.mkdir(parents=True, exist_ok=True)
    became = {}
    for number, item in enumerate(items):
        log = out / f'{number:02d}-{item.name}.log'
        done, left = log.with_suffix('.done'), end - time.monotonic()
        if done.exists():
            became[item.name] = 'done before'
        elif item.seconds > left:
            became[item.name] = 'not begun'
        else:
            seconds = left if '{minutes}' in item.command else item.seconds
            words = item.command.format(out=out, minutes=f'{seconds / 60:.2f}').split()
            status = end_status([sys.executable, *words], log, seconds)
            became[item.name] = {0: 'done', None: f'killed after {seconds:.0f} s'}.get(status, f'status {status}')
            if status == 0:
                done.touch()
        print(f'{item.name}: {became[item.name]}', flush=True)
    return became


def end_status(command: list[str], log: Path, seconds: float) -> int | None:
    """Return the exit status of a program; None if it was killed because it took longer."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])
    with log.open('w') as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=dict(os.environ, PYTHONPATH=paths), stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and the processes it has left behind
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=9, help='end within this time')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='logs, and the evidence')
    parser.add_argument(
        '--python',
        action='append',
        default=[],
        metavar='NAME=PATH',
        help='another toolkit and its interpreter, as in peers.py',
    )
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cuda')
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the running item, too
    became = run_day(plan(args.device, args.python), args.out.resolve(), time.monotonic() + 60 * args.minutes - RESERVE)
    sys.exit(any(what.startswith(('status', 'killed')) for what in became.values()))


if __name__ == '__main__':
    main()
