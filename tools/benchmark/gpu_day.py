"""All that is to be done on a GPU whose time is short: is it right, is it fast, does it learn.

``python tools/benchmark/gpu_day.py --minutes 9 --out DIR`` runs the commands of :func:`plan` in order of worth and
keeps the output of each in ``DIR/NN-NAME.log``. What ended well is not done again; an item for which too little time is
left is not begun, so that the day ends in time. On a CPU the sizes are small: to see that it runs.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RESERVE = 5
"""Seconds for processes to end."""


class Item(NamedTuple):
    """A command below tools/benchmark, begun if so many seconds are left, and killed after them.

    ``{minutes}`` stands for what is left of the day, ``{out}`` for the folder of the day.
    """

    name: str
    command: str
    seconds: float


def plan(device: str) -> list[Item]:
    """The items, in order of worth."""

    def check(name: str, seconds: float) -> Item:
        return Item(name, f'gpu_checks.py {name} --device {device}{" --smoke" * (device == "cpu")}', seconds)

    def step(name: str, config: str, options: str, seconds: float) -> Item:
        return Item(f'step-{name}', f'step.py configs/{config}.py --device {device} {options}', seconds)

    checks = [check('losses', 150), check('views', 150), check('nonfinite', 150), check('runs', 150)]
    learns = Item('evidence', f'evidence.py --device {device} --minutes {{minutes}} --state {{out}} --out {{out}}', 240)
    forward = f'evaluation.py forward --device {device}'
    dropping = 'token_dropping.py {} --out {{out}}/token_dropping.json'
    if device == 'cpu':
        return [
            *checks,
            step('digits', 'patchmix/vit-xs4_digits', '--smoke --batch-size 4 --repeats 1 --precisions fp32', 150),
            Item('evaluation', f'{forward} configs/mocov3/vit-xs4_digits.py --batch-size 4 --image-size 32', 150),
            Item('patch-dropping', dropping.format('configs/mocov3/vit-xs4_digits.py --repeats 1'), 150),
            Item('loader', 'loader.py --sizes 500x375 --images 4 --turns 1 --device cpu', 150),
        ]
    bf16, tf32 = '--steps 5 --precisions bf16', '--steps 5 --precisions fp32'
    both = 'configs/mocov3/vit-s16_in1k.py configs/patchmix/vit-s16_in1k.py --batch-size 64 --amp'
    return [
        *checks,
        step('vit-s16-bf16', 'patchmix/vit-s16_in1k', f'--batch-size 128 {bf16} --compile', 180),
        step('vit-b16-bf16', 'patchmix/vit-b16_in1k', f'--batch-size 128 {bf16} --compile', 210),
        check('compiled', 120),
        Item('evaluation', f'{forward} configs/patchmix/vit-s16_in1k.py --batch-size 256', 60),
        Item('patch-dropping', dropping.format(both), 90),
        Item('loader', 'loader.py --device cpu', 120),
        step('r50-bf16', 'mocov2/r50_in1k', f'--batch-size 256 {bf16} --compile', 180),
        step('vit-s16-fp32', 'patchmix/vit-s16_in1k', f'--batch-size 128 {tf32} --compile', 180),
        Item('loader-with-workers', 'loader.py --num-workers 1 2 4 8 --sizes 500x375 --images 256', 120),
        step('dino-vit-s16-bf16', 'dino/vit-s16_in1k', f'--batch-size 64 {bf16}', 120),
        step('byol-r50-bf16', 'byol/r50_in1k', f'--batch-size 256 {bf16}', 120),
        learns._replace(command=f'{learns.command} --jobs 8'),
    ]


def run_day(items: list[Item], out: Path, end: float) -> dict[str, str]:
    """Run what is not done and fits until ``end``, a time of ``time.monotonic()``; what became of each item."""
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
            status = end_status([sys.executable, f'tools/benchmark/{words[0]}', *words[1:]], log, seconds)
            became[item.name] = {0: 'done', None: f'killed after {seconds:.0f} s'}.get(status, f'status {status}')
            if status == 0:
                done.touch()
        print(f'{item.name}: {became[item.name]}', flush=True)
    return became


def end_status(command: list[str], log: Path, seconds: float) -> int | None:
    """The exit status of a program; None if it was killed because it took longer."""
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
                os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=9, help='end within this time')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='logs, and the state of the evidence')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cuda')
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what runs, too
    became = run_day(plan(args.device), args.out.resolve(), time.monotonic() + 60 * args.minutes - RESERVE)
    sys.exit(any(what.startswith(('status', 'killed')) for what in became.values()))


if __name__ == '__main__':
    main()
