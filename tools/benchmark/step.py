"""The training step of a config against a plain one of the same method, written by hand from timm and PyTorch.

``python tools/benchmark/step.py configs/patchmix/vit-s16_in1k.py --batch-size 16`` prints a table: speed as a multiple
of the plain step's, images per second, MFU, peak memory, and the share of each phase. Both sides run in processes of
their own (plain_step.py, mixcl_step.py), the plain one without mixcl's settings, and take steps in turn. The FLOPs
are counted (those of the config's step for both sides), the peak is that of a matrix product in the same run.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from mixcl.command_line import OverrideAction
from mixcl.errors import UserError, reported_to_user

FORMATS = ('fp32', 'bf16')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='A training step against a plain one of the same method.')
    parser.add_argument('config')
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--device', choices=['cpu', 'cuda'], help='cuda by default, where there is one')
    parser.add_argument('--precisions', nargs='+', choices=FORMATS, default=list(FORMATS))
    parser.add_argument('--against', choices=FORMATS, help="the plain step's; by default the same")
    parser.add_argument('--compile', action='store_true', help='the compiled step, too')
    parser.add_argument('--steps', type=int, default=1, help='in a row, before the other side has its turn')
    parser.add_argument('--repeats', type=int, default=5, help='turns of each side, of which the median is printed')
    parser.add_argument('--smoke', action='store_true', help='at the reduced size of tools/train.py --smoke')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


import torch
from mmengine.config import Config, ConfigDict
from torch import Tensor

from mixcl import machine
from mixcl.apis.complexity import SyntheticIteration, count_flops
from mixcl.engine.hooks.health.throughput import peak_flops
from mixcl.experiments.options.smoke import shrink_to_smoke
from mixcl.experiments.prepared import prepared

HERE = Path(__file__).parent
LOSSES = dict(InfoNCE='contrast', NegativeCosine='cosine', DINODistillation='dino')
TARGETS = dict(EMA='EMA', EpochwiseEMA='EMA', ShuffledEMA='EMA', StopGrad='StopGrad', Shared='Shared')
PRECISIONS = dict(zip(FORMATS, (torch.float32, torch.bfloat16), strict=True))
COUNTED = 16
"""Images of which FLOPs are counted, on the CPU; more take in proportion."""


def specification(cfg: Config, crops: list[Tensor]) -> dict[str, Any]:
    """What plain_step.py builds in the place of a config.

    Args:
        cfg: a pretraining config.
        crops: of a batch, (B, 3, h, w) each.

    Raises:
        UserError: for a part that the plain step does not have.
    """
    model, remaining = cfg.model, iter(crops)
    views = {}
    for name, count in (model.get('views') or dict(view1=1, view2=1)).items():
        several = [next(remaining) for _ in range(count)]
        views[name] = [count * len(several[0]), *several[0].shape[1:]]
    terms = [row[:3] for row in model.terms]
    mixed = {name for row in terms for name in row[:2]} - views.keys()
    mixer = ConfigDict(model.get('mixer') or {})
    kinds: dict[str, tuple] = {
        'model.objective.type': (model.objective.type, LOSSES),
        'model.target.type': (model.target.type, TARGETS),
    }
    if mixed:
        kinds['model.mixer.type'] = mixer.get('type'), ('PatchMix',)
        kinds['the mixed streams'] = tuple(sorted(mixed)), (('mix1', 'mix2'),)
    for place, (kind, known) in kinds.items():
        if kind not in known:
            raise UserError(f'the plain step knows no {place}={kind!r}; it has {", ".join(map(str, known))}')
    if any('keep' in stream for stream in (model.get('streams') or {}).values()):
        raise UserError('the plain step drops no patches; leave keep out of model.streams')
    return dict(
        views=views,
        terms=terms,
        loss=LOSSES[model.objective.type],
        target=TARGETS[model.target.type],
        temperature=model.objective.get('temperature', 1.0),
        num_mix=mixer.num_mix if mixed else 0,
        patch_size=mixer.get('patch_size'),
        queue=next((queue.size for queue in model.get('memory', {}).values()), 0),
        norm=model.neck.type == 'MLPHead',
        head=_widths(model.neck),
        head_norm=model.neck.get('last_norm', True),
        predictor=_widths(model.predictor) if model.get('predictor') else None,
        predictor_norm=(model.get('predictor') or {}).get('last_norm', True),
        optimizer=cfg.optim_wrapper.optimizer.type if cfg.optim_wrapper.optimizer.type in ('AdamW', 'SGD') else 'SGD',
        **_backbone(model.backbone),
    )


def _widths(head: dict) -> list[int]:
    if head['type'] == 'DINOHead':
        middle = [head.get('hidden_channels', 2048), head.get('bottleneck_channels', 256)]
        return [head['in_channels'], *middle, head['out_channels']]
    hidden = [head['hidden_channels']] * (head.get('num_layers', 2) - 1) if head.get('hidden_channels') else []
    return [head['in_channels'], *hidden, head['out_channels']]


def _backbone(backbone: dict) -> dict[str, Any]:
    if backbone['type'] == 'mmpretrain.ResNet':
        return dict(backbone=f'resnet{backbone["depth"]}', vit=None, frozen_patches=False)
    if backbone['type'] not in ('ContrastiveViT', 'DINOViT'):
        raise UserError(f'the plain step knows no model.backbone.type={backbone["type"]!r}; give a ViT or a ResNet')
    arch = backbone['arch']
    vit = dict(
        img_size=backbone['img_size'],
        patch_size=backbone.get('patch_size', 16),
        embed_dim=arch['embed_dims'],
        depth=arch['num_layers'],
        num_heads=arch['num_heads'],
        mlp_ratio=arch['feedforward_channels'] / arch['embed_dims'],
        qkv_bias=backbone.get('qkv_bias', True),
        drop_path_rate=backbone.get('drop_path_rate', 0.0),
    )
    return dict(backbone='vit', vit=vit, frozen_patches=backbone.get('frozen_patch_embed', False))


class Contestant:
    """A process that takes steps when it is asked to."""

    def __init__(self, program: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / program), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
        )  # fmt: skip
        self.answers: list[dict] = []

    def take(self, steps: int) -> None:
        """Take so many steps."""
        assert self.process.stdin and self.process.stdout
        print(steps, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise UserError(f'a process of the benchmark ended: {self.log.read().decode()[-1500:]}')
        self.answers.append(json.loads(line))

    def end(self) -> None:
        self.process.communicate()


def race(plain: Contestant, other: Contestant, steps: int, repeats: int) -> dict[str, Any]:
    """Let both take steps in turn; what the other one's took, and its speed as a multiple of the plain one's."""
    for contestant in (plain, other):
        contestant.take(2)  # optimiser states, caches, compilation
        contestant.answers.clear()
    for _ in range(repeats):
        plain.take(steps)
        other.take(steps)
    both = list(zip(plain.answers, other.answers, strict=True))
    phases = {
        name: statistics.median(answer['phases'][name] / answer['seconds'] for answer in other.answers)
        for name in other.answers[0].get('phases', {})
    }
    return dict(
        seconds=statistics.median(answer['seconds'] for answer in other.answers) / steps,
        plain_seconds=statistics.median(answer['seconds'] for answer in plain.answers) / steps,
        speed=statistics.median(p['seconds'] / o['seconds'] for p, o in both),
        peak=other.answers[-1]['peak'],
        phases=phases,
    )


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each precision, eager and (``--compile``) compiled, with a plain contestant of its own."""
    torch.set_float32_matmul_precision('high')  # so that the peak of fp32 is that of TF32 on a GPU, as in runs of mixcl
    cfg = prepared(args.config, cfg_options=args.cfg_options)
    if args.smoke:
        shrink_to_smoke(cfg)
    few = min(COUNTED, args.batch_size)
    iteration = SyntheticIteration(cfg, few)
    spec = specification(cfg, iteration.batch['inputs'])
    spec['views'] = {name: [args.batch_size * rows // few, *shape] for name, (rows, *shape) in spec['views'].items()}
    flops = count_flops(iteration.run)[0] * args.batch_size / few
    del iteration
    smoke = ['--smoke'] if args.smoke else []
    options = ['--cfg-options', *args.raw_options] if args.raw_options else []
    rows = []
    for precision in args.precisions:
        for extra in [[], ['--compile']] if args.compile else [[]]:
            plain_spec = dict(spec, device=args.device, precision=args.against or precision)
            plain = Contestant('plain_step.py', [json.dumps(plain_spec)], machine.plain())
            given = [args.config, str(args.batch_size), args.device, precision, *smoke, *extra, *options]
            other = Contestant('mixcl_step.py', given, dict(os.environ))
            try:
                row = race(plain, other, args.steps, args.repeats)
            finally:
                plain.end()
                other.end()
            peak = peak_flops(args.device, PRECISIONS[precision])
            row |= dict(precision=precision, compiled=bool(extra), against=args.against or precision, flops=flops)
            row |= dict(mfu=flops / row['seconds'] / peak, plain_peak=plain.answers[-1]['peak'])
            rows.append(row)
            if args.out:
                args.out.write_text(json.dumps(rows, indent=1))
    return rows


def main(args: argparse.Namespace) -> None:
    args.device = args.device or ('cuda' if torch.cuda.is_available() else 'cpu')
    words = sys.argv[1:]
    args.raw_options = words[words.index('--cfg-options') + 1 :] if '--cfg-options' in words else []
    rows = measure(args)
    print(f'{args.config}: batch {args.batch_size} on {args.device}, {torch.get_num_threads()} thread(s), ', end='')
    print(f'{rows[0]["flops"] / args.batch_size / 1e9:.1f} GFLOPs per image')
    for row in rows:
        name = f'{row["precision"]}{", compiled" if row["compiled"] else ""}'
        print(
            f'{name}: {row["speed"]:.2f} times the plain step in {row["against"]}, '
            f'{args.batch_size / row["seconds"]:.3g} images per second, MFU {row["mfu"]:.0%}, peak memory '
            f'{row["peak"] / 2**30:.2f} GiB (plain {row["plain_peak"] / 2**30:.2f})'
        )
        print('  ' + '; '.join(f'{phase} {share:.1%}' for phase, share in row['phases'].items()))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
