"""Time and memory of finding one's own images: folders, lists and tar files of any number of images.

``python tools/benchmark/survey.py --images 10000 40000``

Trees of empty files are made in a temporary folder, one after the other, and removed. For each source two things are
measured, in a process of its own: the survey with which a command starts, and the data set that a run then trains on.
Memory is what either needs at its highest beyond the imports; "cpu" are the survey's seconds without those that other
programs took; "stored" is what every data worker shares or, where workers are started anew, receives. 1,200,000 images
need as many inodes; ``--kinds flat nested`` leaves out the others.
"""

import argparse
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

KINDS = ('flat', 'nested', 'list', 'tar')
CLASSES = 1000
SHARD = 10_000
FIGURES = ('survey_s', 'cpu_s', 'survey_mb', 'load_s', 'load_mb', 'stored_mb')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Measure the survey of folders, lists and tar files.')
    parser.add_argument('--images', type=int, nargs='+', default=[10_000, 40_000], help='how many, one tree each')
    parser.add_argument('--kinds', nargs='+', choices=KINDS, default=KINDS, help='which sources')
    parser.add_argument('--folder', help='where the trees are made; by default the folder for temporary files')
    parser.add_argument('--measure', metavar='SPEC', help=argparse.SUPPRESS)  # what the other process does
    return parser.parse_args()


def names(number: int, nested: bool) -> Iterator[str]:
    for index in range(number):
        folder = f'class_{index % CLASSES:04d}/' if nested else ''
        yield f'{folder}photo_{index:08d}.jpg'


def write_tree(root: Path, number: int, nested: bool) -> Path:
    for folder in {os.path.dirname(name) for name in names(number, nested)}:
        (root / folder).mkdir(parents=True)
    for name in names(number, nested):
        os.close(os.open(root / name, os.O_CREAT | os.O_WRONLY))
    return root


def write_flat(root: Path, number: int) -> str:
    return f'folder:{write_tree(root / "flat", number, nested=False)}'


def write_nested(root: Path, number: int) -> str:
    return f'folder:{write_tree(root / "nested", number, nested=True)}'


def write_list(root: Path, number: int) -> str:
    write_tree(root / 'listed', number, nested=True)
    lines = (f'listed/{name},{name.partition("/")[0]}\n' for name in names(number, nested=True))
    (root / 'list.csv').write_text('path,label\n' + ''.join(lines))
    return f'list:{root / "list.csv"}'


def write_tar(root: Path, number: int) -> str:
    """Shards of 10,000 images with labels."""
    every = list(names(number, nested=True))
    for start in range(0, number, SHARD):
        with tarfile.open(root / f'shard-{start // SHARD:04d}.tar', 'w') as shard:
            for name in every[start : start + SHARD]:
                for member, content in ((name, b'x'), (f'{name[:-4]}.cls', name[6:10].encode())):
                    header = tarfile.TarInfo(member)
                    header.size = len(content)
                    shard.addfile(header, io.BytesIO(content))
    return f'tar:{root}/*.tar'


WRITERS: dict[str, Callable[[Path, int], str]] = dict(
    flat=write_flat, nested=write_nested, list=write_list, tar=write_tar
)


def resident(peak: bool) -> float:
    """Memory of this process in MB, now or at its highest."""
    name = 'VmHWM' if peak else 'VmRSS'
    (line,) = (line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def timed(action: Callable[[], object]) -> tuple[object, float, float, float]:
    """What an action returns, its seconds, those of the processor, and the MB that it needed at most."""
    Path('/proc/self/clear_refs').write_text('5')  # the highest so far is forgotten
    before, start, busy = resident(peak=False), time.perf_counter(), time.process_time()
    result = action()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    return result, seconds, busy, resident(peak=True) - before


def measure(spec: str) -> dict[str, float]:
    import mixcl.datasets  # noqa: F401
    from mixcl.experiments.options.own_data import source_config, survey
    from mixcl.registry import DATASETS

    config = source_config(spec)
    _, survey_s, cpu_s, survey_mb = timed(lambda: survey(config))
    dataset, load_s, _, load_mb = timed(lambda: DATASETS.build({**config, 'split': 'pretrain'}))
    stored_mb = len(pickle.dumps(dataset)) / 2**20
    return dict(zip(FIGURES, (survey_s, cpu_s, survey_mb, load_s, load_mb, stored_mb), strict=True))


def main(args: argparse.Namespace) -> None:
    print(f'{"source":8}{"images":>10}' + ''.join(f'{name:>11}' for name in FIGURES) + '   per 100,000: survey s, MB')
    for number in args.images:
        for kind in args.kinds:
            with tempfile.TemporaryDirectory(prefix='survey-', dir=args.folder) as folder:
                spec = WRITERS[kind](Path(folder), number)
                command = [sys.executable, __file__, '--measure', spec]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
            scale = 100_000 / number
            row = ''.join(f'{found[name]:11.2f}' for name in FIGURES)
            each = f'{found["survey_s"] * scale:.2f}, {found["survey_mb"] * scale:.1f}'
            print(f'{kind:8}{number:10,}{row}   {each}', flush=True)


if __name__ == '__main__':
    arguments = parse_arguments()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
    else:
        main(arguments)
