"""Training runs for ``mixcl train``, ``mixcl pretrain`` and Python code."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.runner import Runner

from mixcl import machine
from mixcl.apis.arguments import named
from mixcl.distributed import unwrapped
from mixcl.engine.hooks.forecast import ForecastHook
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.recipes.own_data import survey
from mixcl.recipes.paths import innermost, kind_of
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.shipped import default_work_dir
from mixcl.weights import allow_pickle

SLOW_HERE = 'WARNING: --amp: this CPU has no instructions for bfloat16 and may be slower with it; leave it out'


@named(Options, without=('fit',))
def train(config: str | Path, **options: Any) -> Runner:
    """Train with a config.

    Args:
        config: file, or name of a config that comes with mixcl.
        **options: see :class:`~mixcl.recipes.prepared.Options`.

    Returns:
        The runner at the end of the run: its ``model`` is trained, its ``work_dir`` has logs and checkpoints.

    Raises:
        UserError: for whatever cannot work, before the first step.
        RunStopped: if a signal or ``max_time`` ended the run; ``resume='auto'`` continues it.
    """
    all_options = Options(**options)
    if all_options.overwrite and all_options.resume:
        raise UserError('`overwrite` removes the checkpoints that `resume` continues from: give one of them')
    cfg = prepared_to_train(config, all_options)
    if all_options.smoke and not all_options.resume and cfg.work_dir == default_work_dir(config, '_smoke'):
        all_options = replace(all_options, overwrite=True)  # those of the previous trial
    return run(cfg, all_options)


def run(cfg: Config, options: Options) -> Runner:
    """Train with a prepared config."""
    with allow_pickle(options.allow_pickle):
        runner = build_runner(cfg, options.overwrite, options.allow_changes)
        images = innermost(cfg.train_dataloader.dataset)
        counts = cfg.get('found_images')
        user_owned = bool(counts) or kind_of(images) == 'ImageFolder'
        if user_owned and runner.rank == 0:
            counts = counts or f'folder:{images.data_root}: {survey(images)}'
            runner.logger.info(f'images: {counts}', extra=FOR_PEOPLE)
        if not torch.cuda.is_available():
            if options.amp and machine.emulates_bfloat16():
                runner.logger.info(SLOW_HERE, extra=FOR_PEOPLE)
            if options.fit:
                runner.register_hook(ForecastHook())
        if options.smoke and runner.rank == 0:
            _preview(runner)
        if (runner.val_loop is None or user_owned) and hasattr(unwrapped(runner.model), 'encoder_names'):
            from mixcl.apis.learnt_hook import LearntHook  # it imports figures

            runner.register_hook(LearntHook())
        runner.train()
        return runner


def _preview(runner: Runner) -> None:
    """Draw the mixtures of a config, if it has any."""
    from mixcl.visualization.canvas import write
    from mixcl.visualization.mix_preview import mixed_streams, mixture_figure  # other runs do without figures

    if mixed_streams(runner.cfg):
        figure = mixture_figure(runner.cfg, runner.cfg.train_dataloader.batch_size)
        path = write(figure, Path(runner.work_dir, 'mix_preview.png'))
        runner.logger.info(f'mix preview: {path}', extra=FOR_PEOPLE)
