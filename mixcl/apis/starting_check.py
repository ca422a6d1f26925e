"""What a training run checks before it touches data or a GPU."""

from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.dry_run import try_hooks, try_schedules, try_views
from mixcl.experiments.checks.building import built_from
from mixcl.experiments.checks.values import schedule_notes
from mixcl.experiments.data_roots import check_data_roots, check_files, check_metric_files
from mixcl.registry import MODELS


def check_data(cfg: Config) -> None:
    """Look for the folders and files of data; raises UserError for the first that is missing."""
    check_data_roots(cfg)
    check_metric_files(cfg, 'val_evaluator')


def check_start(cfg: Config, processes: int = 1) -> list[str]:
    """Check that a run could start on so many processes; sentences about its batch and its schedules.

    Raises:
        UserError: for the first thing that cannot work.
    """
    check_files(cfg)
    try_hooks(cfg)
    try_schedules(cfg)
    check_model(cfg, processes)
    return [*batch_lines(cfg, processes), *(f'note: {note}' for note in schedule_notes(cfg))]


def check_model(cfg: Config, processes: int) -> None:
    """Build the model on the CPU, and let its parts judge the batch.

    Raises:
        UserError: if it cannot be built, or the batch does not fit.
    """
    with DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'), built_from(cfg):
        # As the Runner does, which hands the preprocessor of the top level to the model.
        preprocessor = {'data_preprocessor': cfg.data_preprocessor} if cfg.get('data_preprocessor') else {}
        model = MODELS.build({**preprocessor, **cfg.model})
        if cfg.get('train_cfg'):
            build_optim_wrapper(model, _plain_wrapper(cfg.optim_wrapper))
    if cfg.get('activation_checkpointing') is not None:
        checkpoint_activations(model, cfg.activation_checkpointing)
    try_views(cfg, model, processes)


def _plain_wrapper(optim_wrapper: dict) -> dict:
    """The optimiser without loss scaling, which a machine without a GPU refuses though another may train with it."""
    shared = ('optimizer', 'constructor', 'paramwise_cfg', 'clip_grad', 'accumulative_counts')
    return {name: optim_wrapper[name] for name in shared if name in optim_wrapper}


def batch_lines(cfg: Config, processes: int) -> list[str]:
    """How the global batch compares with the one that the learning rate was made for.

    Raises:
        UserError: if that one cannot be reached with so many processes.
    """
    batch_size = (cfg.get('train_dataloader') or {}).get('batch_size')
    if batch_size is None:
        return []
    accumulated = cfg.optim_wrapper.get('accumulative_counts', 1)
    images = processes * batch_size * accumulated
    lines = [f'global batch {images}: {batch_size} images on each of {processes} process(es)']
    base = (cfg.get('auto_scale_lr') or {}).get('base_batch_size')
    if base and base != processes * batch_size:  # what is accumulated stays out of it
        share = (
            f'train_dataloader.batch_size={base // processes} gives it'
            if base % processes == 0
            else f'it cannot be divided among {processes} processes'
        )
        lines.append(f'note: the learning rate is for a batch of {base}; {share}, or `auto_scale_lr` scales the rate')
    return lines
