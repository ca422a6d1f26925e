"""All that is to be done on a GPU whose time is short: is it right, is it fast, does it learn.

``python tools/benchmark/gpu_day.py --minutes 9 --out DIR`` takes the items of :func:`plan` in order of worth, each as a
program of its own, and writes ``DIR/gpu_day.json`` and the page ``DIR/gpu_day.md`` after each. What is done is kept in
``--state`` (by default DIR) and not done again, unless its file is removed from there; what failed is tried again after
all others. An item for which too little time is left is not begun, so that the day ends in time.

On a CPU, or with ``--smoke``, the sizes are small: to see that it runs. Needs no installation of mixcl.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from gpu_page import page

ROOT = Path(__file__).resolve().parents[2]
HERE = 'tools/benchmark'
TO_BE_CONTINUED = 85
"""What programs of mixcl end with that have saved all, and go on when they are started again."""

SAID = 12
"""Last lines of an item's output that are kept."""

RESERVE = 5
"""Seconds for the page, and for processes to end."""

BUSY = 150
"""Seconds that a small item may take, on a CPU with other work."""

PACKAGES = (
    *('torch', 'torchvision', 'triton', 'numpy', 'timm', 'scikit-learn', 'transformers'),
    *('onedl-mmengine', 'onedl-mmpretrain', 'onedl-mmcv'),
)
PROBE = """
import json, torch
gpu = torch.cuda.get_device_properties(0) if torch.cuda.is_available() else None
print(json.dumps(gpu and f'{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}'))
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=9, help='end within this time')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='of gpu_day.json and gpu_day.md')
    parser.add_argument('--state', type=Path, metavar='DIR', help='what is done already; by default that of --out')
    parser.add_argument('--device', choices=['cpu', 'cuda'], help='cuda by default, where there is one')
    parser.add_argument('--smoke', action='store_true', help='small sizes, as on a CPU')
    return parser.parse_args()


@dataclass(frozen=True)
class Item:
    """A program of the day.

    Attributes:
        name: of its files in the state folder, too.
        section: of the page.
        command: script below tools/benchmark and arguments; ``{out}`` is the .json file for its rows, ``{minutes}``
            what is left of the day, ``{state}`` the state folder.
        seconds: it is begun if so much time is left, and killed after it.
        all_that_is_left: it may take all that is left instead.
    """

    name: str
    section: str
    command: str
    seconds: float
    all_that_is_left: bool = False

    @property
    def file(self) -> str:
        return re.sub(r'\W+', '-', self.name.lower())


def plan(device: str, smoke: bool) -> list[Item]:
    """The items, in order of worth."""
    right, fast, learns = 'Right', 'Fast', 'Learns'

    def check(name: str, seconds: float) -> Item:
        small = ' --smoke' if smoke else ''
        return Item(name, right, f'gpu_checks.py {name} --device {device}{small} --out {{out}}', seconds)

    def step(name: str, config: str, options: str, seconds: float = 120) -> Item:
        return Item(name, fast, f'step.py configs/{config}.py --device {device} --out {{out}} {options}', seconds)

    bf16, tf32 = '--steps 5 --precisions bf16', '--steps 5 --precisions fp32'
    checks = [check('losses', 100), check('views', 60), check('nonfinite', 60), check('runs', 90)]
    evidence = f'evidence.py --device {device} --minutes {{minutes}} --state {{state}} --out {{out}}'
    tables = [Item('evidence', learns, evidence, 120, all_that_is_left=True)]
    forward = f'evaluation.py forward --device {device} --out {{out}}'
    if smoke:
        small = [
            step('step', 'patchmix/vit-xs4_digits', '--smoke --batch-size 4 --repeats 1 --precisions fp32', 60),
            Item('evaluation', fast, f'{forward} configs/mocov3/vit-xs4_digits.py --batch-size 4 --image-size 32', 60),
            Item(
                'patch dropping', fast, 'token_dropping.py configs/mocov3/vit-xs4_digits.py --repeats 1 --out {out}', 60
            ),
            Item('loader', fast, 'loader.py --sizes 500x375 --images 4 --turns 1 --device cpu --out {out}', 60),
        ]
        return [replace(item, seconds=BUSY, all_that_is_left=False) for item in (*checks, *small, *tables)]
    dropping = 'token_dropping.py configs/mocov3/vit-s16_in1k.py configs/patchmix/vit-s16_in1k.py --batch-size 64 --amp'
    full = 'full_batch.py --config configs/patchmix/{}.py --out {{out}}'
    return [
        *checks,
        step('step ViT-S/16, bf16', 'patchmix/vit-s16_in1k', f'--batch-size 128 {bf16} --compile', 180),
        step('step ViT-B/16, bf16', 'patchmix/vit-b16_in1k', f'--batch-size 128 {bf16} --compile', 210),
        check('compiled', 120),
        Item('evaluation', fast, f'{forward} configs/patchmix/vit-s16_in1k.py --batch-size 256', 60),
        Item('patch dropping', fast, f'{dropping} --out {{out}}', 90),
        Item('loader', fast, 'loader.py --device cpu --out {out}', 120),
        step('step ResNet-50, bf16', 'mocov2/r50_in1k', f'--batch-size 256 {bf16} --compile', 180),
        step('step ViT-S/16, fp32', 'patchmix/vit-s16_in1k', f'--batch-size 128 {tf32} --compile', 180),
        Item('full batch ViT-S/16', fast, full.format('vit-s16_in1k'), 60),
        Item('full batch ViT-B/16', fast, full.format('vit-b16_in1k'), 60),
        Item(
            'loader with workers', fast, 'loader.py --num-workers 1 2 4 8 --sizes 500x375 --images 256 --out {out}', 120
        ),
        step('step DINO ViT-S/16, bf16', 'dino/vit-s16_in1k', f'--batch-size 64 {bf16}'),
        step('step BYOL ResNet-50, bf16', 'byol/r50_in1k', f'--batch-size 256 {bf16}'),
        *tables,
    ]


def ordered(items: list[Item], records: Mapping[str, dict]) -> list[Item]:
    """What is to be done: first what was not tried yet."""
    left = [item for item in items if records.get(item.name, {}).get('status') != 'done']
    return sorted(left, key=lambda item: item.name in records)


def run_day(items: list[Item], state: Path, out: Path, facts: dict[str, str], end: float) -> dict[str, dict]:
    """Do what is to be done until ``end``, a time of ``time.monotonic()``; the records by name of the item."""
    for folder in (state, out):
        folder.mkdir(parents=True, exist_ok=True)
    files = {item.name: state / f'{item.file}.json' for item in items}
    records = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    write(out, facts, items, records)
    for item in ordered(items, records):
        left = end - time.monotonic()
        if item.seconds > left:
            continue
        print(f'{item.name}: ', end='', flush=True)
        records[item.name] = record = run_item(item, state, left if item.all_that_is_left else item.seconds)
        print(f'{record["status"]}, {record["seconds"]:.0f} s', flush=True)
        put(files[item.name], json.dumps(record, indent=1))
        write(out, facts, items, records)
    return records


def run_item(item: Item, state: Path, seconds: float) -> dict[str, Any]:
    """Run it, with all that it starts ended after so many seconds; what came of it."""
    rows, log = state / f'{item.file}.rows.json', state / f'{item.file}.log'
    rows.unlink(missing_ok=True)
    values = dict(out=rows, state=state, minutes=f'{seconds / 60:.2f}')
    words = [word.format(**values) for word in item.command.split()]
    paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    begin = time.monotonic()
    with log.open('w') as output:
        status = end_status([sys.executable, f'{HERE}/{words[0]}', *words[1:]], output, environment, seconds)
    found = []
    with contextlib.suppress(OSError, ValueError):  # none, or half of them, of a program that was killed
        found = json.loads(rows.read_text())
    wrong = any(row.get('right') is False for row in found)
    names = {0: 'wrong' if wrong else 'done', None: f'too long (killed after {seconds:.0f} s)'}
    names[TO_BE_CONTINUED] = 'to be continued'
    return dict(
        item=item.name,
        command=' '.join(words).replace(str(state), 'STATE'),
        status=names.get(status, f'failed with status {status}'),
        seconds=time.monotonic() - begin,
        rows=found,
        lines=[] if status == 0 else log.read_text(errors='replace').splitlines()[-SAID:],
    )


def end_status(command: list[str], output: IO[str], environment: dict[str, str], seconds: float) -> int | None:
    """Of a program; None if it was killed because it took longer."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
        process.wait()


def write(out: Path, facts: dict[str, str], items: list[Item], records: dict[str, dict]) -> None:
    """The two files of the day, as they are now."""
    kept = [records[item.name] for item in items if item.name in records]
    put(out / 'gpu_day.json', json.dumps(dict(machine=facts, items=kept), indent=1))
    put(out / 'gpu_day.md', page(facts, [(item.section, item.name) for item in items], records))


def put(file: Path, text: str) -> None:
    """Write a file so that it is never half there."""
    unfinished = file.with_suffix('.part')
    unfinished.write_text(text)
    unfinished.replace(file)


def machine_facts(gpu: str | None, smoke: bool) -> dict[str, str]:
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f'{name} {metadata.version(name)}')
        except metadata.PackageNotFoundError:
            versions.append(f'{name} missing')
    cores = f'{len(os.sched_getaffinity(0))} cores'
    size = dict(size='small, which says nothing of speed') if smoke else {}
    python = f'Python {platform.python_version()}, {", ".join(versions)}'
    return dict(device=gpu or f'CPU, {platform.machine()}', cores=cores, versions=python, **size)


def main(args: argparse.Namespace) -> None:
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what runs, too
    gpu = None
    if args.device != 'cpu':
        gpu = json.loads(
            subprocess.run([sys.executable, '-c', PROBE], check=True, stdout=subprocess.PIPE, timeout=120).stdout
        )
    if args.device == 'cuda' and gpu is None:
        sys.exit('error: --device cuda: PyTorch finds no GPU here; use --device cpu')
    if gpu is None:
        os.environ['CUDA_VISIBLE_DEVICES'] = ''
    device, smoke = 'cuda' if gpu else 'cpu', args.smoke or not gpu
    state = (args.state or args.out).resolve() / (f'{device}-smoke' if smoke else device)
    end = begin + 60 * args.minutes - RESERVE
    try:
        run_day(plan(device, smoke), state, args.out, machine_facts(gpu, smoke), end)
    except OSError as error:
        sys.exit(f'error: {error}; --out and --state must be folders that can be written, on a disk with room')
    print(f'the page is {args.out / "gpu_day.md"}')


if __name__ == '__main__':
    main(parse_arguments())
