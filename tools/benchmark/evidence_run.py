"""One run of evidence.py: train with one seed, evaluate every few epochs, write JSON; goes on where it stopped."""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from evidence_rows import Run, find_run

from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train and evaluate one run of the evidence.')
    parser.add_argument('run', help='its name, as evidence.py --list has it')
    parser.add_argument('--work-dir', type=Path, required=True, help='for checkpoints, the log and the curve')
    parser.add_argument('--out', type=Path, required=True, help='JSON file to write when it is finished')
    parser.add_argument('--seconds', type=float, required=True, help='save and end with status 85 after so many')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cpu')
    parser.add_argument('--num-workers', type=int, default=0, help='processes that load images')
    return parser.parse_args()


if __name__ == '__main__':
    begun = time.monotonic()
    arguments = parse_arguments()  # before the imports that take seconds
    if arguments.device == 'cpu':
        os.environ['CUDA_VISIBLE_DEVICES'] = ''

import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.configuration import check_config
from mixcl.engine.runners.command_options import limit_time
from mixcl.engine.runners.launch import build_runner

NAMES = dict(knn10_top1='knn', probe_top1='linear')


class CurveHook(Hook):
    """Keeps what every evaluation finds, and the seconds of training until then, in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.curve: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        self.draws: dict[str, list[float]] = {}
        # Of other programs, which share a CPU, wall-clock time would tell as much as of this one.
        self.clock = time.perf_counter if torch.cuda.is_available() else time.process_time

    def before_train_epoch(self, runner: Runner) -> None:
        self.begun = self.clock()

    def after_train_epoch(self, runner: Runner) -> None:
        self._keep('seconds', self.curve.get('seconds', 0.0) + self.clock() - self.begun)

    def after_val_epoch(self, runner: Runner, metrics: dict[str, float] | None = None) -> None:
        found, self.draws = {}, {}
        for name, value in (metrics or {}).items():
            encoder, _, measure = name.partition('_')
            measure, _, draw = NAMES.get(measure, measure).partition('_draw')
            if draw:
                self.draws.setdefault(f'{encoder}_{measure}', []).append(round(value, 2))
            elif measure in NAMES.values() or (measure.startswith('few') and not measure.endswith('_std')):
                found[f'{encoder}_{measure}'] = round(value, 3)
        self._keep(str(runner.epoch), found)

    def _keep(self, name: str, value: Any) -> None:
        self.curve[name] = value
        write_whole(self.file, self.curve)


def train(run: Run, cfg: Config, curve: CurveHook) -> dict[str, Any]:
    """Train to the end, and what was found."""
    runner = build_runner(cfg)
    runner.register_hook(curve, priority='LOWEST')
    runner.train()
    if not curve.draws:  # it was ended within the last evaluation
        runner.val_loop.run()
    seconds = curve.curve.pop('seconds')
    return dict(
        name=run.name,
        passes=runner.model.passes_per_image(),
        steps=runner.max_iters,
        seconds=round(seconds, 1),
        device='cpu' if not torch.cuda.is_available() else torch.cuda.get_device_name(),
        epochs=runner.max_epochs,
        curve=curve.curve,
        draws=curve.draws,
    )


def write_whole(file: Path, content: Any) -> None:
    part = file.with_suffix('.part')
    part.write_text(json.dumps(content) + '\n')
    part.replace(file)


def main(args: argparse.Namespace) -> None:
    run = find_run(args.run)
    if run is None:
        raise UserError(f'there is no run {args.run!r}; evidence.py --list has their names')
    if args.device == 'cpu':
        torch.set_num_threads(1)
    cfg = run.config()
    check_config(cfg)
    cfg.work_dir = str(args.work_dir)
    for loader in (cfg.train_dataloader, cfg.val_dataloader, cfg.val_cfg.bank_dataloader):
        loader.num_workers = args.num_workers
        loader.persistent_workers = args.num_workers > 0
    args.work_dir.mkdir(parents=True, exist_ok=True)
    cfg.resume = True
    limit_time(cfg, f'{max(int(args.seconds - (time.monotonic() - begun)), 1)}s')
    found = train(run, cfg, CurveHook(args.work_dir / 'curve.json'))
    write_whole(args.out, dict(found, fingerprint=run.fingerprint()))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
