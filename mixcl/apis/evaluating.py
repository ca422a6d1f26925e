"""Evaluation of a backbone by the papers' protocols, for ``mixcl evaluate`` and Python code."""

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from mmengine.dist import get_world_size

import mixcl
from mixcl.apis.arguments import named
from mixcl.distributed import process_count
from mixcl.engine.runners.processes import join_processes, on_main_process
from mixcl.errors import UserError
from mixcl.evaluation.published import papers_numbers
from mixcl.evaluation.results import Results, Row, default_folder
from mixcl.evaluation.running import precision_of, run_evaluation, write_config
from mixcl.faults import fault_sentence
from mixcl.files import check_writable
from mixcl.quiet_log import tell
from mixcl.recipes.evaluations.plan import Evaluation, planned
from mixcl.recipes.subject import Subject, read_subject
from mixcl.shipped import name_of, shipped
from mixcl.weights import allow_pickle as pickle_allowed

CONFIGS = shipped('configs')


class Evaluated(NamedTuple):
    """Rows as in results.json (numbers are under 'metrics'), the folder of that file, and why protocols failed."""

    rows: list[Row]
    folder: Path
    failures: list[str]


@named()
def evaluate(
    checkpoint: str | Path,
    data: str,
    protocols: str | Sequence[str] = ('knn',),
    *,
    config: str | None = None,
    recipe_config: str | Sequence[str] = (),
    encoder: str | None = None,
    recipe: str | None = None,
    work_dir: str | None = None,
    out: str | None = None,
    data_root: str | Sequence[str] = (),
    dry_run: bool = False,
    rerun: bool = False,
    amp: bool = False,
    cfg_options: Mapping[str, Any] | None = None,
    allow_pickle: bool = False,
    launcher: str = 'none',
) -> Evaluated:
    """Evaluate a backbone; the same call again continues with what is not finished.

    Args:
        checkpoint: a file, the folder of a run, or 'random' for an untrained backbone.
        data: name of a data set, such as 'cifar10', or your own images: 'folder:photos'.
        protocols: any of 'knn', 'linear_fast', 'linear', 'finetune' and those that docs/evaluation.md explains.
        config: config that the checkpoint was trained with, in place of the one in it.
        recipe_config, ...: the options of ``mixcl evaluate``, whose help explains each.

    Raises:
        UserError: for whatever cannot work, before the first evaluation.
    """
    checkpoint = str(checkpoint)
    protocols, recipe_config, data_root = (
        [one] if isinstance(one, str) else one for one in (protocols, recipe_config, data_root)
    )
    folder = Path(work_dir) if work_dir else default_folder(checkpoint)
    with pickle_allowed(allow_pickle):
        results = Results(out or folder)
        subject = read_subject(checkpoint, config)
        named = (text.split('=', 1) if '=' in text else [data, text] for text in data_root)
        roots = {name: root for name, root in named}
        evaluations = planned(
            list(dict.fromkeys(protocols)), data, subject, own_configs=recipe_config, encoder=encoder,
            recipe=recipe, roots=roots, overrides=cfg_options, amp=amp, launcher=launcher,
            processes=process_count(launcher),
        )  # fmt: skip
        join_processes(evaluations[0].cfg)
        check_writable(results.folder, '`out` or `work_dir`')
        check_writable(folder, '`work_dir`')
        for evaluation in evaluations:
            written = write_config(evaluation, folder)
            tell(f'{evaluation.name} by {shown(evaluation.path)}, composed in {written}')
        if dry_run:
            return Evaluated([], results.folder, [])
        return evaluate_all(evaluations, subject, results, folder, rerun)


MACHINE_SETTINGS = (
    'at_once',
    'data.workers',
    'num_workers',
    '_dataloader.batch_size',
    'persistent_workers',
    'pin_memory',
    'data_root',
)
"""Settings that may be overridden in a paper's recipe: a step keeps its images, however many are seen at once."""


def row_of(evaluation: Evaluation, subject: Subject) -> Row:
    """Return everything about a result that is known before the evaluation."""
    cfg = evaluation.cfg
    return dict(
        checkpoint=dict(
            path=subject.checkpoint,
            sha256=subject.sha256,
            config_name=None if subject.config is None else name_of(subject.config),
            epoch=subject.epochs,
        ),
        encoder=evaluation.encoder,
        data=evaluation.data,
        protocol=cfg.protocol,
        config=dict(path=shown(evaluation.path), sha256=evaluation.digest),
        overrides=dict(evaluation.overrides),
        paper=[
            {key: number[key] for key in ('method', 'metric', 'value', 'source')}
            for number in papers_numbers(subject, evaluation.data, cfg, CONFIGS)
            if all(name.endswith(MACHINE_SETTINGS) for name in evaluation.overrides)
        ],
        precision=precision_of(evaluation),
        seed=(cfg.get('randomness') or {}).get('seed'),
        versions=dict(mixcl=mixcl.__version__, torch=torch.__version__),
    )


def shown(path: Path) -> str:
    """Return a config's path, below the repository if it lies there."""
    path = path.resolve()
    return str(path.relative_to(CONFIGS.parent) if path.is_relative_to(CONFIGS) else path)


def evaluate_all(
    evaluations: list[Evaluation], subject: Subject, results: Results, folder: Path, rerun: bool
) -> Evaluated:
    """Run what is not finished, storing each result at once; if one evaluation fails, the others go on."""
    rows: list[Row] = []
    failures: list[str] = []
    for evaluation in evaluations:
        row = row_of(evaluation, subject)
        stored = None if rerun else results.finished(row)
        if stored:
            tell(f'{evaluation.name} is finished already (`rerun` does it again)')
            rows.append(stored)
            continue
        started = time.perf_counter()
        try:
            row |= run_evaluation(evaluation, subject, folder, rows, resume=not rerun)
        except Exception as error:  # whatever fails in one evaluation, the others are worth having
            of_one = getattr(error, 'on_one_process_only', not isinstance(error, UserError))
            if os.environ.get('MIXCL_TRACEBACK') or (of_one and get_world_size() > 1):
                raise  # the other processes may wait for this one for ever; the launcher ends them
            reason = str(error) if isinstance(error, UserError) else fault_sentence(error)
            failures.append(f'{evaluation.protocol} on {evaluation.data} failed: {reason}')
            tell(failures[-1])
            continue
        row['seconds'] = round(time.perf_counter() - started, 1)
        on_main_process(partial(results.add, row))
        rows.append(row)
    return Evaluated(rows, results.folder, failures)
