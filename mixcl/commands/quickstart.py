"""``mixcl quickstart``: pretrain PatchMix on scikit-learn's digits and show what it learnt, in a few minutes.

It writes ``report.html``, ``results.json`` and pictures to ``work_dirs/quickstart``.
"""

import json
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixcl.command_line import add_data_root, add_overrides
from mixcl.errors import UserError

if TYPE_CHECKING:
    from mmengine.runner import Runner

NAMES = {
    'raw_pixels_': 'raw pixels',
    'random_init_': 'randomly initialised encoder',
    '': 'pretrained, online encoder',
    'ema_': 'pretrained, EMA encoder',
}
"""Rows of the table, by the prefix of their names in results.json."""

COLUMNS = {
    'few_labels/1': '1 label',
    'few_labels/5': '5 labels',
    'linear_fast': 'linear probe',
    'knn': 'kNN, all labels',
}
"""Measures, and their titles; few labels are per class."""

DRAWS = 20
"""Draws of the few labels."""

Rows = dict[str, dict[str, float]]
"""Accuracies in [0, 1] by measure, by row (keys of NAMES); the EMA encoder's if there is one."""

WORK_DIR = 'work_dirs/quickstart'
"""The quick start's own folder: each run replaces the one before."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('--config', default='patchmix/vit-xs4_digits', help='another small config with labels')
    parser.add_argument('--work-dir', default=WORK_DIR)
    parser.add_argument('--overwrite', action='store_true', help='remove the checkpoints of a run in --work-dir')
    add_data_root(parser)
    add_overrides(parser)


def run(args: Namespace) -> None:
    import torch

    from mixcl.engine.runners.launch import build_runner
    from mixcl.recipes.prepared import Options, prepared_to_train
    from mixcl.visualization.canvas import write
    from mixcl.visualization.curves import curves_figure
    from mixcl.visualization.mix_preview import mixed_streams, mixture_figure
    from mixcl.visualization.report import write_report

    started = time.perf_counter()
    options = Options(work_dir=args.work_dir, cfg_options=args.cfg_options, data_root=args.data_root)
    cfg = prepared_to_train(args.config, options)
    if not (cfg.get('val_dataloader') and mixed_streams(cfg)):
        raise UserError(f'--config {args.config}: the quick start is for configs that mix images and validate')
    torch.set_num_threads(min(2, torch.get_num_threads()))
    work_dir = Path(args.work_dir)
    runner = build_runner(cfg, overwrite=args.overwrite or args.work_dir == WORK_DIR)
    figures = [write(mixture_figure(cfg), work_dir / 'mix.png')]
    runner.train()
    figures.append(write(curves_figure([work_dir]), work_dir / 'curves.png'))
    rows = evaluate(runner)
    results: dict[str, Any] = dict(seconds=time.perf_counter() - started, config=cfg.to_dict())
    for name, accuracies in rows.items():
        results |= {f'{name}{measure}_top1': value for measure, value in accuracies.items()}
    (work_dir / 'results.json').write_text(json.dumps(results, indent=2, default=str) + '\n')
    print_table(rows)
    report = write_report([work_dir], work_dir / 'report.html')
    print(
        f'\nPretraining is for few labels: the mean of {DRAWS} draws of 1 and of 5 labelled images per class. With all '
        f'labels, raw pixels of small, centred digits are hard to beat\n'
        f'{results["seconds"]:.0f} s. Written: {work_dir / "results.json"}, {", ".join(map(str, figures))}\n'
        f'To look at all of it in a browser: {report}'
    )


def evaluate(runner: 'Runner') -> Rows:
    """Measure the pixels, a random encoder, and the pretrained encoders."""
    from mixcl.comparison.measures import features, few_labels, knn, linear_fast, pixels, raw, values
    from mixcl.evaluation.untrained import untrained

    loaders, model = (runner.val_loop.bank_dataloader, runner.val_loop.dataloader), runner.model
    measured = [raw(pixels(loaders, runner.cfg.data_preprocessor))]
    measured += [features(loaders, untrained(runner.cfg, runner.seed))]
    measured += [features(loaders, model, side) for side in model.encoder_names]
    rows = {}
    for name, images in zip(NAMES, measured, strict=False):
        answers = few_labels(images, (1, 5), DRAWS) | linear_fast(images) | knn(images)
        rows[name] = {measure: float(values(answers, measure).mean()) for measure in COLUMNS}
    return rows


def print_table(rows: Rows) -> None:
    print(f'\n{"features":32s}' + ''.join(f'{title:>17s}' for title in COLUMNS.values()))
    for name, accuracies in rows.items():
        print(f'{NAMES[name]:32s}' + ''.join(f'{accuracies[measure]:17.1%}' for measure in COLUMNS))
