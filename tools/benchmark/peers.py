"""Training in mixcl and in other toolkits, side by side: one folder of photos, one network, one method.

``python tools/benchmark/peers.py --python lightly=PYTHON --python lightly_train=PYTHON`` draws photos into a temporary
folder and lets the sides train in turn, each in its own process by the interpreter that has it installed. It prints
images per second after the first step, and of the views alone by one core; seconds to the first step and in total;
memory; and how mixcl compares. lightly has no trainer: its side is the loop that its documentation shows.
"""

import argparse
import importlib.metadata
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BEGAN = time.monotonic()
ROOT = Path(__file__).resolve().parents[2]
CASES: dict[str, dict[str, Any]] = {
    'simclr:resnet18': dict(config='simclr/r50_in1k', depth=18, width=512),
    'simclr:resnet50': dict(config='simclr/r50_in1k', depth=50, width=2048),
    'dino:vit_small_patch16_224': dict(config='dino/vit-s16_in1k'),
}
"""Cases by method and network; DINO has two large and eight small crops."""
PACKAGES = dict(mixcl='mixcl', lightly='lightly', lightly_train='lightly-train')
QUANTITIES = {
    'images/s': 'higher is better',
    'views/s of one core': 'higher is better',
    'first step, s': 'lower is better',
    'all, s': 'lower is better',
    'memory, GiB': 'lower is better',
}


# ----- the sides, each run by its interpreter -----


def train_mixcl(args: argparse.Namespace, out: str) -> None:
    import mixcl
    from mixcl.datasets import ViewPreprocessor

    case = CASES[args.case]
    count_as_views(ViewPreprocessor, 'forward')
    overrides = {
        'batch': args.batch_size,
        'at_once': args.batch_size,
        'train_dataloader.num_workers': args.num_workers,
        'train_dataloader.persistent_workers': args.num_workers > 0,
        'schedule.epochs': args.epochs,
        'schedule.warmup': 1,
    }
    if 'depth' in case:
        overrides |= {'model.backbone.depth': case['depth']}
    mixcl.train(case['config'], data=f'folder:{args.folder}', work_dir=out, cfg_options=overrides)


def train_lightly_train(args: argparse.Namespace, out: str) -> None:
    import lightly_train

    method, network = args.case.split(':')
    lightly_train.pretrain(
        out=out,
        data=args.folder,
        model=f'timm/{network}' if method == 'dino' else f'torchvision/{network}',
        method=method,
        method_args=dict(output_dim=65536) if method == 'dino' else None,
        transform_args=dict(local_view=dict(num_views=8)) if method == 'dino' else None,
        epochs=args.epochs,
        batch_size=args.batch_size,
        num_workers=args.num_workers,
        accelerator='cpu',
        devices=1,
        precision='32-true',
    )


def train_lightly(args: argparse.Namespace, out: str) -> None:
    import torch
    from lightly.data import LightlyDataset
    from lightly.transforms import DINOTransform, SimCLRTransform

    method, network = args.case.split(':')
    transform = SimCLRTransform(input_size=224) if method == 'simclr' else DINOTransform(n_local_views=8)
    loader = torch.utils.data.DataLoader(
        LightlyDataset(args.folder, transform=transform),
        batch_size=args.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=args.num_workers,
    )
    step = (_lightly_simclr if method == 'simclr' else _lightly_dino)(network)
    for _ in range(args.epochs):
        for batch in loader:
            loss = step(batch[0])
            step.optimizer.zero_grad()  # type: ignore[attr-defined]
            loss.backward()
            step.optimizer.step()  # type: ignore[attr-defined]


def _lightly_simclr(network: str) -> Callable:
    import torch
    import torchvision
    from lightly.loss import NTXentLoss
    from lightly.models.modules import SimCLRProjectionHead

    backbone = getattr(torchvision.models, network)()
    width, backbone.fc = backbone.fc.in_features, torch.nn.Identity()
    model = torch.nn.Sequential(backbone, SimCLRProjectionHead(width, 2048, 128))
    criterion = NTXentLoss()

    def step(views: list) -> Any:
        return criterion(model(views[0]), model(views[1]))

    step.optimizer = torch.optim.SGD(model.parameters(), lr=0.06, momentum=0.9)  # type: ignore[attr-defined]
    return step


def _lightly_dino(network: str) -> Callable:
    import timm
    import torch
    from lightly.loss import DINOLoss
    from lightly.models.modules import DINOProjectionHead
    from lightly.models.utils import deactivate_requires_grad, update_momentum

    def encoder() -> torch.nn.Module:
        backbone = timm.create_model(network, num_classes=0, dynamic_img_size=True, drop_path_rate=0.1)
        return torch.nn.Sequential(backbone, DINOProjectionHead(backbone.num_features, 2048, 256, 65536))

    student, teacher = encoder(), encoder()
    teacher.load_state_dict(student.state_dict())
    deactivate_requires_grad(teacher)
    criterion = DINOLoss(65536)

    def step(views: list) -> Any:
        update_momentum(student, teacher, 0.996)
        with torch.no_grad():
            targets = [teacher(view) for view in views[:2]]
        return criterion(targets, [student(view) for view in views], epoch=0)

    step.optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)  # type: ignore[attr-defined]
    return step


SIDES: dict[str, Callable[[argparse.Namespace, str], None]] = dict(
    mixcl=train_mixcl, lightly=train_lightly, lightly_train=train_lightly_train
)

spent_on_views: list[float] = []
"""Seconds of CPU time, per call."""


def count_as_views(owner: type, name: str) -> None:
    """Add the CPU time of a method to that of views."""
    function = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        begun = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent_on_views.append(time.process_time() - begun)

    setattr(owner, name, call)


def run_side(args: argparse.Namespace) -> None:
    """Train, and print the measurements as the last line. A hook of torch sees the steps of all toolkits."""
    if args.side == 'mixcl':  # as its commands begin, before torch is imported
        sys.path.insert(0, str(ROOT))
        from mixcl.starting import begin

        begin('__main__')
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.utils.data import dataloader

    ends: list[float] = []
    views: list[float] = []

    def ended(*_: Any) -> None:
        ends.append(time.monotonic())
        views.append(sum(spent_on_views))

    register_optimizer_step_post_hook(ended)
    # Without workers a batch is made where it is asked for.
    count_as_views(dataloader._BaseDataLoaderIter, '__next__')
    with tempfile.TemporaryDirectory() as folder:
        SIDES[args.side](args, str(Path(folder, 'run')))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {
        'images/s': args.batch_size * (len(ends) - 1) / (ends[-1] - ends[0]),
        'views/s of one core': math.nan
        if args.num_workers
        else args.batch_size * (len(ends) - 1) / (views[-1] - views[0]),
        'first step, s': ends[0] - BEGAN,
        'all, s': time.monotonic() - BEGAN,
        'memory, GiB': peak,
    }
    version = importlib.metadata.version(PACKAGES[args.side])
    print(json.dumps(dict(steps=len(ends), version=version, torch=torch.__version__, found=found)), flush=True)


# ----- the comparison -----


def measure_side(name: str, python: str, args: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Run a side, and return what it printed."""
    words = ['--side', name, '--folder', folder, '--case', args.case]
    for option in ('batch_size', 'num_workers', 'epochs'):
        words += [f'--{option.replace("_", "-")}', str(getattr(args, option))]
    ran = subprocess.run(
        [python, __file__, *words],
        text=True, capture_output=True, env=dict(os.environ, LIGHTLY_TRAIN_EVENTS_DISABLED='1'),
    )  # fmt: skip
    if ran.returncode:
        raise SystemExit(f'error: {name} by {python} ended with status {ran.returncode}:\n{ran.stderr[-2000:]}')
    return json.loads(ran.stdout.splitlines()[-1])


def compare(args: argparse.Namespace, pythons: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row per quantity: the medians of all sides, and mixcl's advantage over each of the others."""
    from loader import draw_photos

    found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    with tempfile.TemporaryDirectory() as folder:
        draw_photos(Path(folder), (375, 500), args.images, 85)
        for _ in range(args.repeats):
            for name, python in pythons.items():
                found[name].append(measure_side(name, python, args, folder))
    versions = {name: f'{name} {turns[0]["version"]}, torch {turns[0]["torch"]}' for name, turns in found.items()}
    print(f'{args.case}, {args.images} photos of 500x375, batch {args.batch_size}, {args.epochs} epochs')
    print(*versions.values(), sep='; ')
    for quantity, meaning in QUANTITIES.items():
        medians = {name: statistics.median(one['found'][quantity] for one in turns) for name, turns in found.items()}
        sign = 1 if meaning.startswith('higher') else -1
        ratios = {name: (medians['mixcl'] / value) ** sign for name, value in medians.items() if name != 'mixcl'}
        shown = '  '.join(f'{name} {value:.2f}' for name, value in medians.items())
        gained = '  '.join(f'{value:.2f} times {name}' for name, value in ratios.items())
        print(f'{quantity:>20}  {shown}   mixcl: {gained}', flush=True)
        yield dict(case=args.case, quantity=quantity, medians=medians, mixcl_is_better_by=ratios, versions=versions)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Training in mixcl and in other toolkits, side by side.')
    parser.add_argument('--python', action='append', default=[], metavar='NAME=PATH', help='lightly, lightly_train')
    parser.add_argument('--case', choices=CASES, help='one of them; default: all')
    parser.add_argument('--images', type=int, default=64)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument(
        '--num-workers', type=int, default=0, help='with workers, the time of views is not measured alone'
    )
    parser.add_argument('--repeats', type=int, default=1, help='turns of each side, of which the median is printed')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    parser.add_argument('--side', choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument('--folder', help=argparse.SUPPRESS)
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    pythons = dict(mixcl=sys.executable) | dict(entry.split('=', 1) for entry in args.python)
    if unknown := sorted(pythons.keys() - SIDES.keys()):
        raise SystemExit(f'error: --python names {unknown[0]!r}; there are {", ".join(SIDES)}')
    rows: list[dict[str, Any]] = []
    for case in [args.case] if args.case else list(CASES):
        rows += compare(argparse.Namespace(**{**vars(args), 'case': case}), pythons)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1))


if __name__ == '__main__':
    arguments = parse_arguments()
    if arguments.side:
        run_side(arguments)
    else:
        main(arguments)
