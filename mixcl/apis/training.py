"""A training run, as ``mixcl train``, ``mixcl pretrain`` and Python code start it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.apis.arguments import named
from mixcl.configuration import check_metric_files
from mixcl.distributed import unwrapped
from mixcl.engine.runners.backbone_option import use_backbone
from mixcl.engine.runners.command_options import limit_time, use_mixed_precision, use_pretrained, use_views
from mixcl.engine.runners.data_option import use_data
from mixcl.engine.runners.image_size import set_image_size
from mixcl.engine.runners.launch import build_runner, read_config
from mixcl.engine.runners.processes import use_launcher
from mixcl.engine.runners.smoke import shrink_to_smoke
from mixcl.engine.runners.work_dir import default_work_dir
from mixcl.errors import UserError
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.weights import allow_pickle


@dataclass(frozen=True)
class TrainOptions:
    """What a run does otherwise than its config says: the options of ``mixcl train``, whose help explains each."""

    work_dir: str | None = None
    resume: str | None = None  # 'auto' or a checkpoint
    allow_changes: bool = False
    overwrite: bool = False
    pretrained: str | None = None
    encoder: str | None = None
    max_time: str | None = None
    allow_pickle: bool = False
    amp: bool = False
    compile: bool = False
    auto_scale_lr: bool = False
    no_validate: bool = False
    views: str | None = None
    data: str | None = None
    data_root: str | None = None
    backbone: str | None = None
    image_size: int | None = None
    smoke: bool = False
    cfg_options: dict[str, Any] | None = None
    launcher: str = 'none'


@named(TrainOptions)
def train(config: str | Path, **options: Any) -> Runner:
    """Train by a config.

    Args:
        config: file, or name of a config that comes with mixcl.
        **options: of :class:`TrainOptions`.

    Returns:
        The runner at the end of the run: its ``model`` is trained, its ``work_dir`` has logs and checkpoints.

    Raises:
        UserError: for whatever cannot work, before the first step.
        RunStopped: if a signal or ``max_time`` ended the run; ``resume='auto'`` continues it.
    """
    asked = TrainOptions(**options)
    cfg = read_config(config, asked.cfg_options, None if asked.data else asked.data_root)
    if cfg.get('train_cfg') is None:
        raise UserError(
            f'{config} trains nothing (it has no train_cfg): use mixcl test {config} --pretrained CHECKPOINT'
        )
    chosen = asked.work_dir or cfg.get('work_dir')
    cfg.work_dir = str(chosen or default_work_dir(config, '_smoke' if asked.smoke else ''))
    found = change_backbone_and_images(cfg, asked)
    return run(cfg, asked, found, overwrite=asked.overwrite or (asked.smoke and not chosen and not asked.resume))


def change_backbone_and_images(cfg: Config, asked: TrainOptions) -> str:
    """Apply the options that change the backbone and what it sees, in place; what the images are, in a sentence."""
    found = use_data(cfg, asked.data, asked.data_root) if asked.data else ''
    if asked.image_size is not None and asked.smoke:
        raise UserError(f'`smoke` has an image size of its own; leave out `image_size={asked.image_size}`')
    if asked.backbone:
        use_backbone(cfg, asked.backbone, asked.image_size)
    elif asked.image_size is not None:
        set_image_size(cfg, asked.image_size)
    if asked.smoke:
        shrink_to_smoke(cfg)
    if asked.views:
        use_views(cfg, asked.views)
    return found


def run(cfg: Config, asked: TrainOptions, found: str = '', overwrite: bool = False) -> Runner:
    """Apply the options that decide how a config is trained, in place, and train."""
    if asked.amp:
        use_mixed_precision(cfg)
    if asked.compile:
        cfg.compile = cfg.get('compile') or True
    if asked.auto_scale_lr:
        if not cfg.get('auto_scale_lr'):
            raise UserError('`auto_scale_lr` needs auto_scale_lr=dict(base_batch_size=...) in the config')
        cfg.auto_scale_lr.enable = True
    if asked.no_validate:
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    if asked.max_time:
        limit_time(cfg, asked.max_time)
    if asked.allow_pickle:
        allow_pickle()
    _choose_start(cfg, asked)
    check_metric_files(cfg, 'val_evaluator')
    use_launcher(cfg, asked.launcher)
    runner = build_runner(cfg, overwrite, asked.allow_changes)
    if found:
        runner.logger.info(f'images: {found}', extra=FOR_PEOPLE)
    if asked.smoke and runner.rank == 0:
        _preview(runner)
    if runner.val_loop is None and hasattr(unwrapped(runner.model), 'encoder_names'):
        from mixcl.apis.learnt_hook import LearntHook  # it imports figures

        runner.register_hook(LearntHook())  # in the place of kNN
    runner.train()
    return runner


def _preview(runner: Runner) -> None:
    """Draw the mixtures of a config, if it has any."""
    from mixcl.visualization import mixed_streams, mixture_figure  # other runs do without figures
    from mixcl.visualization.canvas import write

    if mixed_streams(runner.cfg):
        figure = mixture_figure(runner.cfg, runner.cfg.train_dataloader.batch_size)
        path = write(figure, Path(runner.work_dir, 'mix_preview.png'))
        runner.logger.info(f'mix preview: {path}', extra=FOR_PEOPLE)


def _choose_start(cfg: Config, asked: TrainOptions) -> None:
    """From which weights, or from which step of an earlier run."""
    if asked.overwrite and asked.resume:
        raise UserError('`overwrite` removes the checkpoints that `resume` continues from: give one of them')
    if asked.resume:
        cfg.resume = True
        cfg.load_from = None if asked.resume == 'auto' else asked.resume
    if asked.pretrained:
        use_pretrained(cfg, asked.pretrained, asked.encoder)
    elif asked.encoder:
        raise UserError(
            f'`encoder={asked.encoder}` chooses an encoder of the checkpoint that `pretrained` names; give it'
        )
