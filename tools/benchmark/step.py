"""The training step of a config on a CPU against a plain one of the same method, by hand from timm and PyTorch.

``python tools/benchmark/step.py configs/patchmix/vit-s16_in1k.py --batch-size 16`` prints a table: speed as a multiple
of the plain step's, images per second, MFU, peak memory, and the share of each phase. It is for MoCo v3, PatchMix,
SimCLR, and networks of torchvision that a model of timm teaches. Both sides run in processes of their own
(plain_step.py, mixcl_step.py), the plain one without mixcl's settings, and take steps in turn. The FLOPs of MFU are
those counted in the config's step; the peak is that of a matrix product in the same run.
"""

import copy

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import torch
from mmengine.config import Config, ConfigDict
from synthetic import SyntheticIteration, count_flops
from turns import common_options, keep_rows

from mixcl import machine
from mixcl.encoders.widths import feature_width
from mixcl.engine.hooks.health.throughput import peak_flops
from mixcl.engine.runners.trial_step import synthetic_images
from mixcl.errors import UserError, reported_to_user
from mixcl.recipes.prepared import prepared
from mixcl.recipes.run_options import use_mixed_precision
from mixcl.registry import MODELS, build

HERE = Path(__file__).parent
PRECISIONS = dict(fp32=torch.float32, bf16=torch.bfloat16)
COUNTED = 16
"""Number of images whose FLOPs are counted, on the CPU; more take in proportion."""
BATCHES = 1000


def specification(cfg: Config, shape: Sequence[int]) -> dict[str, Any]:
    """Specify what plain_step.py builds in place of a config, for views of this shape, (B, 3, h, w).

    Raises:
        UserError: for a part that the plain step does not have.
    """
    model = cfg.model
    if model.target.type == 'Teacher':
        return taught(model, shape)
    mixer = model.get('mixer') or ConfigDict()
    streams = {name for row in model.terms for name in row[:2]}
    dropped = [name for name, stream in (model.get('streams') or {}).items() if 'keep' in stream]
    kinds: dict[str, tuple[Any, list]] = {
        'model.objective.type': (model.objective.type, ['InfoNCE']),
        'model.target.type': (model.target.type, ['EMA', 'Shared']),
        'model.mixer.type': (mixer.get('type'), ['PatchMix', None]),
        'model.backbone.type': (model.backbone.type, ['ContrastiveViT', 'mmpretrain.ResNet']),
        'other streams': (sorted(streams - {'view1', 'view2', 'mix1', 'mix2'}), [[]]),
        'streams that drop patches': (dropped, [[]]),
        'patches': (model.get('patches'), [None]),
        'memory': (list(model.get('memory') or {}), [[]]),
    }
    if model.target.type == 'Shared':  # SimCLR
        parts = dict(negatives=model.objective.get('negatives'), predictor=model.get('predictor'), mixer=mixer or None)
        kinds |= {f'{name} beside a shared encoder': (parts[name], [None, ['own']]) for name in parts}
    for place, (value, known) in kinds.items():
        if value not in known:
            raise UserError(f'the plain step knows no {place}={value!r}; it is for MoCo v3, PatchMix on it, and SimCLR')
    return dict(
        shape=list(shape),
        terms=[row[:3] for row in model.terms],
        temperature=model.objective.get('temperature', 1.0),
        num_mix=mixer.get('num_mix', 0),
        patch_size=mixer.get('patch_size', model.backbone.get('patch_size', 16)),
        neck=_perceptron(model.neck, _width(model.backbone)),
        predictor=_perceptron(model.predictor, model.neck.out_channels) if model.get('predictor') else None,
        resnet=f'resnet{model.backbone.get("depth")}',
        vit=_vit(model.backbone) if model.backbone.type == 'ContrastiveViT' else None,
        frozen_patches=model.backbone.get('frozen_patch_embed', False),
        teacher=None,
    )


def taught(model: ConfigDict, shape: Sequence[int]) -> dict[str, Any]:
    """Specify the plain step of a network that a model of timm teaches, without mixing."""
    rows = [list(row[:2]) for row in model.terms]
    for place, value, known in (
        ('objective', model.objective.type, 'Similarity'),
        ('terms', rows, [['view1', 'view1']]),
        ('backbone', model.backbone.type, 'TorchvisionBackbone'),
        ('teacher', model.target.backbone.type, 'TimmBackbone'),
    ):
        if value != known:
            raise UserError(f'the plain step with a teacher knows no {place}={value!r}, but {known!r}')
    widths = [feature_width(build(MODELS, part), shape[1]) for part in (model.backbone, model.target.backbone)]
    return dict(
        shape=list(shape),
        student=model.backbone.name,
        teacher=model.target.backbone.name,
        resized=model.target.get('size'),
        neck=_perceptron(dict(model.neck, out_channels=widths[1]), widths[0]),
        temperature=model.objective.temperature,
        queue=model.memory.queue.size,
        vit=None,
    )


def _width(backbone: dict) -> int:
    return backbone['arch']['embed_dims'] if 'arch' in backbone else 512 if backbone['depth'] < 50 else 2048


def _perceptron(head: dict, width: int) -> tuple[list[int], bool]:
    hidden = [head['hidden_channels']] * (head.get('num_layers', 2) - 1)
    return [width, *hidden, head.get('out_channels', width)], head.get('last_norm', True)


def _vit(backbone: dict) -> dict[str, Any]:
    arch = backbone['arch']
    return dict(
        img_size=backbone['img_size'],
        patch_size=backbone.get('patch_size', 16),
        embed_dim=arch['embed_dims'],
        depth=arch['num_layers'],
        num_heads=arch['num_heads'],
        mlp_ratio=arch['feedforward_channels'] / arch['embed_dims'],
        drop_path_rate=backbone.get('drop_path_rate', 0.0),
    )


class Contestant:
    """A process that takes steps when asked to."""

    def __init__(self, program: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / program), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
        )  # fmt: skip

    def take(self, steps: int) -> dict:
        """Take so many steps; return what the process says of them."""
        assert self.process.stdin and self.process.stdout
        print(steps, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise UserError(f'a process of the benchmark ended: {self.log.read().decode()[-1500:]}')
        return json.loads(line)

    def __enter__(self) -> 'Contestant':
        self.take(2)  # optimiser states, caches, compilation
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def race(plain_spec: dict, cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """Let both take steps in turn; return what each took, and the config's speed as a multiple of the plain one's."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, 'config.py')
        cfg.dump(file)
        with (
            Contestant('plain_step.py', [json.dumps(plain_spec)], machine.plain()) as plain,
            Contestant('mixcl_step.py', [str(file), folder], dict(os.environ)) as own,
        ):
            turns = [(plain.take(1), own.take(1)) for _ in range(args.repeats)]
    return dict(
        seconds=statistics.median(answer['seconds'] for _, answer in turns),
        plain_seconds=statistics.median(answer['seconds'] for answer, _ in turns),
        speed=statistics.median(p['seconds'] / o['seconds'] for p, o in turns),
        peak=turns[-1][1]['peak'],
        plain_peak=turns[-1][0]['peak'],
        phases={
            phase: statistics.median(answer['phases'][phase] / answer['seconds'] for _, answer in turns)
            for phase in turns[0][1]['phases']
        },
    )


def synthetic(args: argparse.Namespace) -> Config:
    """Return the config on synthetic images, without validation."""
    cfg = copy.deepcopy(prepared(args.config, cfg_options=args.cfg_options, smoke=args.smoke))
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.test_cfg = cfg.test_dataloader = cfg.test_evaluator = None
    loader = cfg.train_dataloader
    loader.update(batch_size=args.batch_size, num_workers=0, persistent_workers=False, pin_memory=False)
    images = synthetic_images(loader.dataset, args.batch_size * BATCHES)
    loader.dataset = ConfigDict(type='KeyedDataset', dataset=images, views=loader.dataset.get('views', 'pillow'))
    return cfg


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each precision, with a plain contestant of its own."""
    cfg = synthetic(args)
    few = min(COUNTED, args.batch_size)
    iteration = SyntheticIteration(cfg, few)
    spec = specification(cfg, [args.batch_size, *iteration.batch['inputs'][0].shape[1:]])
    flops = count_flops(iteration.run) * args.batch_size / few
    del iteration
    rows: list[dict[str, Any]] = []
    for precision in args.precisions:
        own = cfg.copy()
        if precision == 'bf16':
            use_mixed_precision(own)
        against = args.against or precision
        row = race(dict(spec, precision=against), own, args)
        mfu = flops / row['seconds'] / peak_flops('cpu', PRECISIONS[precision])
        rows.append(row | dict(precision=precision, against=against, flops=flops, mfu=mfu))
        keep_rows(rows, args.out)
    return rows


def parse_arguments() -> argparse.Namespace:
    description = 'A training step on a CPU against a plain one.'
    parser = argparse.ArgumentParser(description=description, parents=[common_options(device=False)])
    parser.add_argument('config')
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--precisions', nargs='+', choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument('--against', choices=PRECISIONS, help="the plain step's precision; by default the same")
    parser.add_argument('--smoke', action='store_true', help='at the reduced size of tools/train.py --smoke')
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    rows = measure(args)
    print(f'{args.config}: batch {args.batch_size}, {torch.get_num_threads()} thread(s), ', end='')
    print(f'{rows[0]["flops"] / args.batch_size / 1e9:.1f} GFLOPs per image')
    for row in rows:
        print(
            f'{row["precision"]}: {row["speed"]:.2f} times the plain step in {row["against"]}, '
            f'{args.batch_size / row["seconds"]:.3g} images per second, MFU {row["mfu"]:.0%}, '
            f'peak memory {row["peak"] / 2**30:.2f} GiB (plain {row["plain_peak"] / 2**30:.2f})'
        )
        print('  ' + '; '.join(f'{phase} {share:.1%}' for phase, share in row['phases'].items()))


if __name__ == '__main__':
    arguments = parse_arguments()
    with reported_to_user():
        main(arguments)
