"""Execution of one planned evaluation."""

import copy
from collections.abc import Sequence
from pathlib import Path

from mixcl.engine.hooks.revalidation import Revalidation
from mixcl.engine.runners.launch import build_runner, newest_checkpoint
from mixcl.engine.runners.processes import on_main_process
from mixcl.errors import UserError
from mixcl.evaluation.results import Row
from mixcl.files import written_whole
from mixcl.recipes.evaluations.plan import Evaluation
from mixcl.recipes.run_options import use_pretrained
from mixcl.recipes.subject import Subject
from mixcl.weights.run_state import checkpoints_of


def write_config(evaluation: Evaluation, folder: Path) -> Path:
    """Write the config of an evaluation for ``mixcl train`` and ``mixcl test``, ``FOLDER/<name>.py``.

    The config names no weights: they come from ``--pretrained``, or are the tested checkpoint.
    """
    path = folder / f'{evaluation.name}.py'

    def write() -> None:
        with written_whole(path) as file:
            file.write(evaluation.facts.pretty_text.encode())

    on_main_process(write)
    return path


def run_evaluation(
    evaluation: Evaluation, subject: Subject, folder: Path, done: Sequence[Row] = (), resume: bool = True
) -> Row:
    """Run an evaluation, in this process or together with those that a launcher started.

    Args:
        evaluation: what to run; the config stays as it is.
        done: earlier results of this call; robustness tests the classifier of the fine-tuning among them.
        resume: whether to continue an interrupted training.

    Returns:
        ``metrics`` by name, after the last epoch if the protocol trains. Such protocols also give ``best``, the best
        of each metric after any epoch (chosen on the test images), and ``trained``, the path of the last checkpoint.
    """
    cfg = copy.deepcopy(evaluation.cfg)
    cfg.experiment_name = evaluation.name
    cfg.work_dir = str(folder / folder_name(evaluation, subject))
    if evaluation.protocol == 'robustness':
        cfg.load_from = classifier_for(evaluation, subject, done)
    else:
        use_pretrained(cfg, subject.checkpoint, evaluation.encoder)
    if not evaluation.trains:
        metrics = build_runner(cfg).test()
        # FrozenEncoder calls every encoder 'online'; the row of the result says which one it was.
        found = {name.removeprefix('online_'): float(value) for name, value in metrics.items()}
        return dict(metrics=found, best={}, trained=None)
    cfg.resume = resume and any(checkpoints_of(cfg.work_dir))
    runner = build_runner(cfg, overwrite=not cfg.resume)
    runner.register_hook(Revalidation())
    runner.train()
    scalars = {
        name.removeprefix('val/'): scalar.data[0].tolist()  # including epochs before the run was resumed
        for name, scalar in runner.message_hub.log_scalars.items()
        if name.startswith('val/') and name not in ('val/time', 'val/data_time')
    }
    metrics = {name: values[-1] for name, values in scalars.items()}
    best = {name: max(values) for name, values in scalars.items()}
    return dict(metrics=metrics, best=best, trained=newest_checkpoint(cfg.work_dir))


def precision_of(evaluation: Evaluation) -> str:
    """Return the precision of an evaluation: 'fp32', or the number format that it trains in."""
    kind = str((evaluation.cfg.get('optim_wrapper') or {}).get('type'))
    return next((name for word, name in (('BFloat16', 'bf16'), ('Amp', 'fp16')) if word in kind), 'fp32')


def classifier_for(evaluation: Evaluation, subject: Subject, done: Sequence[Row]) -> str:
    """Return the checkpoint of the classifier that robustness tests: the given one, or the one trained before."""
    if subject.classes is not None:
        return subject.checkpoint
    for row in done:
        same = (row['protocol']['name'], row['encoder']) == ('finetune', evaluation.encoder)
        if same and Path(row['trained']).is_file():
            return row['trained']
    raise UserError(
        f'{evaluation.protocol} on {evaluation.data} needs the classifier that finetune trains, but there is none: '
        'finetune failed, or its checkpoint is gone and `rerun` must make it again'
    )


def folder_name(evaluation: Evaluation, subject: Subject) -> str:
    """Return a folder name that differs by weights and batch size, so that no training resumes that of another."""
    parts = [evaluation.name, *([subject.sha256[:8]] if subject.sha256 else [])]
    if evaluation.trains:
        accumulated = evaluation.cfg.optim_wrapper.get('accumulative_counts', 1)
        parts.append(f'{evaluation.cfg.train_dataloader.batch_size}x{accumulated}')
    return '-'.join(parts)
