"""Time, activation memory and FLOPs of a training step that keeps some of the patches beside one that keeps all, and of
a step with terms between patches beside one without them.

``python tools/benchmark/token_dropping.py`` prints a table: APS on a quarter of the patches, hosts whose online encoder
sees half of them, and iBOT and PatchMix with terms between patches. ``python tools/benchmark/token_dropping.py
configs/simclr/vit-s16_in1k.py --keep 0.3`` measures another config. A step is that of tools/complexity.py: forward
passes, backward pass, optimiser, target encoder.
"""

from mixcl.starting import begin

begin(__name__)

import argparse

from mmengine.config import Config
from turns import common_options, keep_rows, median_seconds

from mixcl.apis.complexity import SyntheticIteration, activation_bytes, count_flops
from mixcl.errors import reported_to_user
from mixcl.experiments.prepared import prepared

TABLE = {
    'configs/aps/vit-t2_cifar10.py': 0.25,
    'configs/aps/vit-s2_cifar10.py': 0.25,
    'configs/mocov3/vit-s16_in1k.py': 0.5,
    'configs/patchmix/vit-s16_in1k.py': 0.5,
    'configs/simclr/vit-s16_in1k.py': 0.5,
    'configs/ibot/vit-s16_in1k.py': 1.0,
    'configs/patchmix/vit-s16_in1k_patches.py': 1.0,
}
"""Measured configs, and the share of the patches that is kept; 1 where terms between patches are measured."""

GOALS = {
    0.25: {'seconds': 0.4, 'activations, MiB': 0.4},
    0.5: {'seconds': 0.6, 'activations, MiB': 0.55},
    1.0: {'seconds': 1.15},
}
"""Maximum cost of a side, as a share of the other's."""


def with_share(cfg: Config, keep: float) -> Config:
    """Let the queries (for APS: both encoders) see a share of the patches; changes the config in place."""
    if cfg.model.type == 'PatchSamplingLearner':
        (step,) = (step for step in cfg.train_dataloader.dataset.dataset.pipeline if step.type == 'SampledPatchPair')
        step.ratio = keep
    else:
        queries = {query for query, *_ in cfg.model.terms}
        cfg.merge_from_dict({f'model.streams.{query}.keep': keep for query in queries})
    return cfg


def without_patch_terms(cfg: Config) -> Config:
    """Remove the terms between patches; changes the config in place."""
    cfg.model.terms = [row for row in cfg.model.terms if 'level' not in dict(*row[3:])]
    del cfg.model.patches
    return cfg


def measure(config: str, keep: float, args: argparse.Namespace) -> list[dict]:
    """Print and return one row for each quantity."""
    iterations = []
    for share in (keep, None):
        cfg = prepared(config, cfg_options=args.cfg_options, amp=args.amp)
        if 'patches' not in cfg.model:
            cfg = with_share(cfg, share or 1.0)
        elif share is None:
            cfg = without_patch_terms(cfg)
        iterations.append(SyntheticIteration(cfg, args.batch_size, args.device))
    # Counting comes first: it creates the optimiser states.
    flops = [count_flops(iteration.run) / 1e9 for iteration in iterations]
    memory = [activation_bytes(iteration.model, iteration.run) / 2**20 for iteration in iterations]
    seconds = median_seconds({'one': iterations[0].run, 'other': iterations[1].run}, args.repeats)
    print(f'{config}, keep {keep}, {args.batch_size} images')
    rows = []
    for quantity, (part, whole) in {
        'seconds': seconds.values(), 'activations, MiB': memory, 'GFLOPs': flops,
    }.items():  # fmt: skip
        goal = GOALS.get(keep, {}).get(quantity)
        verdict = '' if goal is None else 'ok' if part / whole <= goal else f'above {goal:.2f}'
        print(f'{quantity:>20} {part:10.3f} {whole:10.3f} {part / whole:6.3f}  {verdict}', flush=True)
        rows.append(dict(config=config, keep=keep, quantity=quantity, part=part, all=whole, share=part / whole))
    return rows


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='What dropping patches saves.', parents=[common_options()])
    parser.add_argument('configs', nargs='*', help='pretraining configs; default: those of the table')
    parser.add_argument('--keep', type=float, help='share of the patches that is kept; default: of the table, or 0.5')
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast')
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    print(f'{"":>20} {"some":>10} {"all":>10} {"ratio":>6}')
    rows = []
    for config in args.configs or TABLE:
        rows += measure(config, args.keep or TABLE.get(config, 0.5), args)
        keep_rows(rows, args.out)


if __name__ == '__main__':
    with reported_to_user():
        main(parse_arguments())
