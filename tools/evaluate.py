"""Evaluate a backbone by the papers' protocols, and print a table with the papers' numbers beside ours.

``python tools/evaluate.py CHECKPOINT --data cifar10 --protocols knn linear finetune``

CHECKPOINT is a pretraining checkpoint, a bare backbone (with ``--backbone-config``) or ``random``. What the protocols
are, which recipe each takes and how results are stored: docs/evaluation.md.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from mixcl.command_line import OverrideAction
from mixcl.errors import RunStopped, UserError, reported_to_user, system_fault
from mixcl.evaluation.recipes import PROTOCOLS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Evaluate a backbone by the papers' protocols.")
    parser.add_argument('checkpoint', help="checkpoint file, or 'random' for an untrained backbone")
    parser.add_argument(
        '--data',
        required=True,
        metavar='NAME',
        help='a file of configs/evaluation/datasets/ (in1k, cifar10), or your own images: folder:PATH, '
        'list:PATH.csv, hf:PATH, tar:PATTERN (docs/your_images.md)',
    )
    parser.add_argument('--protocols', nargs='+', choices=PROTOCOLS, required=True, metavar='PROTOCOL',
                        help=f'one or more of {", ".join(PROTOCOLS)}')  # fmt: skip
    parser.add_argument('--config', nargs='+', default=[], metavar='CONFIG',
                        help='recipes or whole configs for their protocols, instead of those chosen')  # fmt: skip
    parser.add_argument('--backbone-config', metavar='CONFIG', help='any config whose model.backbone to take')
    parser.add_argument('--encoder', choices=['online', 'target', 'all'], help='by default as the protocol says')
    parser.add_argument('--recipe', metavar='NAME', help='by name, such as patchmix or 1percent')
    parser.add_argument('--work-dir', metavar='DIR', help='logs and checkpoints; default work_dirs/evaluation/...')
    parser.add_argument('--out', metavar='DIR', help='results.json and results.md; default as --work-dir')
    parser.add_argument('--data-root', nargs='+', default=[], metavar='[NAME=]DIR',
                        help='folder of the data set, or of another one by its name: voc07=DIR')  # fmt: skip
    parser.add_argument('--dry-run', action='store_true', help='check everything and write the configs, no more')
    parser.add_argument('--rerun', action='store_true', help='evaluate again what is finished')
    parser.add_argument('--amp', action='store_true', help='train under bfloat16 autocast; features stay in float32')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, default={}, metavar='[PROTOCOL.]NAME=VALUE',
                        help='override values, of every config or of one protocol')  # fmt: skip
    parser.add_argument(
        '--allow-pickle', action='store_true', help='read checkpoints that may run code: only from those you trust'
    )
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
from mmengine.dist import get_world_size, is_main_process

import mixcl
from mixcl.engine.runners.command_options import RANDOM, be_patient
from mixcl.engine.runners.processes import process_count, use_launcher
from mixcl.evaluation.plan import Evaluation, planned
from mixcl.evaluation.published import papers_numbers
from mixcl.evaluation.results import Results, Row, table
from mixcl.evaluation.running import precision_of, run_evaluation, write_config
from mixcl.evaluation.subject import Subject, read_subject
from mixcl.files import check_writable
from mixcl.shipped import shipped
from mixcl.weights import allow_pickle

CONFIGS = shipped('configs')


def work_dir_of(args: argparse.Namespace) -> Path:
    if args.work_dir:
        return Path(args.work_dir)
    checkpoint = Path(args.checkpoint)
    name = RANDOM if args.checkpoint == RANDOM else f'{checkpoint.resolve().parent.name}_{checkpoint.stem}'
    return Path('work_dirs/evaluation') / name


def row_of(evaluation: Evaluation, subject: Subject) -> Row:
    """Everything about a result that is known before it is found."""
    cfg = evaluation.cfg
    return dict(
        checkpoint=dict(
            path=subject.checkpoint, sha256=subject.sha256, config_name=subject.config_name, epoch=subject.epochs
        ),
        encoder=evaluation.encoder,
        data=evaluation.data,
        protocol=cfg.protocol,
        config=dict(path=shown(evaluation.path), sha256=evaluation.digest),
        overrides=dict(evaluation.overrides),
        paper=[
            {key: number[key] for key in ('method', 'metric', 'value', 'source')}
            for number in papers_numbers(subject, evaluation.data, cfg, CONFIGS)
        ],
        precision=precision_of(evaluation),
        seed=(cfg.get('randomness') or {}).get('seed'),
        versions=dict(mixcl=mixcl.__version__, torch=torch.__version__),
    )


def shown(path: Path) -> str:
    """A config's path below the repository, where it lies there."""
    path = path.resolve()
    return str(path.relative_to(CONFIGS.parent) if path.is_relative_to(CONFIGS) else path)


def evaluate_all(
    evaluations: list[Evaluation], subject: Subject, results: Results, folder: Path, rerun: bool
) -> tuple[list[Row], int]:
    """Run what is not finished, storing each result at once; a failure is reported and the others go on.

    Returns:
        the rows, and how many evaluations failed.
    """
    rows: list[Row] = []
    failures = 0
    for evaluation in evaluations:
        row = row_of(evaluation, subject)
        stored = None if rerun else results.finished(row)
        if stored:
            say(f'{evaluation.name} is finished already (--rerun does it again)')
            rows.append(stored)
            continue
        started = time.perf_counter()
        try:
            row |= run_evaluation(evaluation, subject, folder, rows, resume=not rerun)
        except RunStopped as stop:
            raise RunStopped(str(stop).replace(' with --resume', '')) from None  # it has no such option, nor needs it
        except Exception as error:  # whatever one evaluation meets, the others are worth having
            if os.environ.get('MIXCL_TRACEBACK'):
                raise
            failures += 1
            report(evaluation, error)
            if get_world_size() > 1 and (not isinstance(error, UserError) or error.of_one_process):
                sys.exit(1)  # the other processes may wait for this one for ever; the launcher ends them
            continue
        row['seconds'] = round(time.perf_counter() - started, 1)
        if is_main_process():
            results.add(row)
        rows.append(row)
    return rows, failures


def say(text: str) -> None:
    if is_main_process():
        print(text, flush=True)


def report(evaluation: Evaluation, error: Exception) -> None:
    fault = system_fault(error)
    kind = '' if fault or isinstance(error, UserError) else f'{type(error).__name__}: '
    if is_main_process() or getattr(error, 'of_one_process', False):
        text = f'{evaluation.protocol} on {evaluation.data} failed: {kind}{" ".join(str(fault or error).split())}'
        print(f'error: {text}', file=sys.stderr, flush=True)


def main(args: argparse.Namespace) -> None:
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    work_dir = work_dir_of(args)
    if args.allow_pickle:
        allow_pickle()
    results = Results(args.out or work_dir)
    subject = read_subject(args.checkpoint, args.backbone_config)
    roots = dict(text.split('=', 1) if '=' in text else (args.data, text) for text in args.data_root)
    evaluations = planned(
        CONFIGS, list(dict.fromkeys(args.protocols)), args.data, subject, own_configs=args.config, encoder=args.encoder,
        recipe=args.recipe, roots=roots, overrides=args.cfg_options, amp=args.amp,
        processes=process_count(args.launcher),
    )  # fmt: skip
    for evaluation in evaluations:
        be_patient(evaluation.cfg)
        use_launcher(evaluation.cfg, args.launcher)
    check_writable(results.folder, '--out or --work-dir')
    check_writable(work_dir, '--work-dir')
    for evaluation in evaluations:
        written = write_config(evaluation, work_dir)
        say(f'{evaluation.name} by {shown(evaluation.path)}, composed in {written}')
    if args.dry_run:
        return
    rows, failures = evaluate_all(evaluations, subject, results, work_dir, args.rerun)
    if is_main_process() and rows:
        print(f'\n{table(rows)}\n\nstored in {results.folder / "results.json"} and results.md')
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    with reported_to_user('the same command continues with what is not finished'):
        main(arguments)
