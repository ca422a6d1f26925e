"""From the command line to a Runner: configs read and checked, work dirs taken, weights checked."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import torch
from mmengine.config import Config, ConfigDict
from mmengine.logging import MMLogger
from mmengine.runner import Runner
from mmengine.utils import import_modules_from_strings

from mixcl.configuration import (
    built_from,
    check_config,
    check_data_roots,
    check_files,
    check_overrides,
    schedule_notes,
    set_data_root,
)
from mixcl.configuration.paths import walk
from mixcl.distributed import unwrapped
from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.compiling import check_compiling, compile_blocks
from mixcl.engine.runners.dry_run import try_schedules, try_views
from mixcl.engine.runners.processes import on_main_process
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.engine.runners.same_run import check_same_run
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, ShardedStatesHook
from mixcl.engine.runners.work_dir import ReleaseHook, RunLock, check_unused, config_name, remove_checkpoints
from mixcl.errors import UserError
from mixcl.files import check_writable
from mixcl.quiet_log import FOR_PEOPLE, quieten
from mixcl.shipped import find_config
from mixcl.weights import (
    check_fits,
    check_resumable,
    load_checkpoints_as_data,
    newest_checkpoint,
    read_checkpoint,
)

FUSED = ('Adam', 'AdamW', 'SGD')
"""Optimisers of torch that have a fused implementation."""


def read_config(path: str | Path, overrides: dict | None = None, data_root: str | None = None) -> Config:
    """Read a config file, apply what the command line says, and check every key.

    The config may be the name of one that comes with mixcl. Its name is noted in it as ``config_name``, so that
    checkpoints carry it.

    Raises:
        UserError: if the file is missing or cannot be evaluated, or for a key that nothing reads.
    """
    quieten(MMLogger.get_instance('mmengine'))  # what is built without a Runner logs there
    path = find_config(path)
    if path.suffix != '.py':  # mmengine reads YAML by a loader that calls whatever function it names
        raise UserError(f'the config {path} is no .py file; write it in Python')
    # Modules that a config imports (custom_imports) may lie beside it.
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a config may be called like a package, such as timm.py
    with _refusing(f'the config {path} cannot be read'):
        cfg = Config.fromfile(path, import_custom_modules=False)
        cfg.items()  # imports what a config names by import
    _forget_own_scope(cfg)
    if overrides:
        check_overrides(cfg, overrides)
        cfg.merge_from_dict(overrides)
    _import_modules(cfg)
    if data_root is not None:
        set_data_root(cfg, data_root)
    check_config(cfg)
    cfg.setdefault('config_name', config_name(path))
    return cfg


def _forget_own_scope(cfg: Config) -> None:
    """Take out the ``_scope_`` that mmengine puts beside every ``type`` of a base ``mixcl::...``.

    ``default_scope`` says it, and mmengine hands it to functions such as that of ``collate_fn`` as an argument.
    """
    if cfg.get('default_scope') == 'mixcl':
        for _, part in walk(cfg._cfg_dict):
            if isinstance(part, dict) and part.get('_scope_') == 'mixcl':
                del part['_scope_']


def _import_modules(cfg: Config) -> None:
    settings = cfg.get('custom_imports') or dict(imports=None)
    with _refusing(f'custom_imports={dict(settings)!r} fails (modules lie beside the config or on PYTHONPATH)'):
        import_modules_from_strings(**settings)


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Make a UserError of whatever a config does, which is a program: it may raise anything, or exit."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        cause = error.__context__ if isinstance(error, ImportError) and error.__context__ else error
        raise UserError(f'{what}: {type(cause).__name__}: {" ".join(str(cause).split())}') from error


def without_training(cfg: Config) -> Config:
    """Take out what only training needs: a run that trains would hold its work dir."""
    for part in ('train_cfg', 'train_dataloader', 'optim_wrapper', 'param_scheduler'):
        cfg[part] = None
    return cfg


def build_runner(cfg: Config, overwrite: bool = False, allow_changes: bool = False) -> Runner:
    """Check the data folders and build the Runner; where it takes weights from a checkpoint, check that they fit.

    A run that trains holds its work dir from here to its end.

    Args:
        overwrite: remove the checkpoints that an earlier run has left in the work dir.
        allow_changes: let a resumed run compute something else than before.

    Raises:
        UserError: for a missing data folder, a work dir of another run, or a checkpoint that is missing, of another
            architecture, or of a run that computed something else.
    """
    check_files(cfg)
    check_data_roots(cfg)
    check_compiling(cfg)
    load_checkpoints_as_data()
    _adapt_to_machine(cfg)
    if not cfg.get('train_cfg'):
        check_writable(cfg.work_dir, '`work_dir`')
        return _build(cfg)
    try_schedules(cfg)
    lock = on_main_process(partial(_enter, cfg, overwrite))
    with ExitStack() as failed:
        if lock is not None:
            failed.callback(lock.release)
        runner = _build(cfg, allow_changes)
        failed.pop_all()
    for note in schedule_notes(cfg):
        runner.logger.warning(note)
    if lock is not None:
        if overwrite:
            remove_checkpoints(cfg.work_dir)
        runner.register_hook(ReleaseHook(lock))
    return runner


def _enter(cfg: Config, overwrite: bool) -> RunLock:
    lock = RunLock(cfg.work_dir)
    lock.acquire()
    try:
        check_unused(cfg, overwrite)
    except UserError:
        lock.release()
        raise
    return lock


def _build(cfg: Config, allow_changes: bool = False) -> Runner:
    with built_from(cfg):
        runner = QuietRunner.from_cfg(cfg)
    _add_scale_switches(runner)
    if cfg.get('train_cfg'):
        # The Runner would build it later, when the data have been read.
        with built_from(cfg):
            runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
        try_views(cfg, unwrapped(runner.model))
    path = cfg.get('load_from')
    if cfg.get('resume') and not path:
        # Not before the processes know each other: on a shared disk they may see different files.
        path = on_main_process(partial(newest_checkpoint, cfg.work_dir), shared=True)
        runner._load_from, runner._resume = path, path is not None
    _check_weights(runner, path, allow_changes)
    return runner


def _check_weights(runner: Runner, path: str | None, allow_changes: bool) -> None:
    model = unwrapped(runner.model)
    if path:
        checkpoint = read_checkpoint(path)
        if runner._resume:
            check_resumable(checkpoint, path)
            with built_from(runner.cfg):
                check_same_run(runner, checkpoint, path, allow_changes)
        check_fits(model, checkpoint, path)
    for hook in runner.hooks:
        if isinstance(hook, PretrainedBackboneHook):
            hook.check(runner)
    if not path and runner.cfg.get('train_cfg') is None:
        model.init_weights()  # as a Runner does only to train


def _adapt_to_machine(cfg: Config) -> None:
    """No pinned memory without a GPU, for which torch would warn at every loader; TF32 with one; a fused optimiser.

    Not under loss scaling, where the optimiser and hooks that clip gradients would see them before the scale is undone.
    """
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision('high')  # TF32 for what stays float32 under autocast
    for loader in _loaders(cfg):
        if not loader.get('num_workers'):
            loader.persistent_workers = False
        if not torch.cuda.is_available():
            loader.pin_memory = False
    wrapper = cfg.get('optim_wrapper') or {}
    optimizer = wrapper.get('optimizer') or {}
    scaled = str(wrapper.get('type')).endswith('AmpOptimWrapper')
    if optimizer.get('type') in FUSED and 'foreach' not in optimizer and not scaled:
        optimizer.setdefault('fused', True)


def _add_scale_switches(runner: Runner) -> None:
    """What mmengine's own switches do only in part."""
    if isinstance(runner.model, MMFullyShardedDataParallel):
        runner.register_hook(ShardedStatesHook())
        runner._init_model_weights = lambda: None  # done before they were shared out
    names = runner.cfg.pop('activation_checkpointing', None)
    if names is not None:
        checkpoint_activations(unwrapped(runner.model), names)
        runner.logger.info(f'activations are computed twice instead of kept: {names}', extra=FOR_PEOPLE)
    compiled = runner.cfg.pop('compile', None)  # mmengine's would compile the whole step
    if compiled:
        number = compile_blocks(unwrapped(runner.model), compiled)
        runner.logger.info(
            f'{number} blocks are compiled; the first steps of each resolution take minutes', extra=FOR_PEOPLE
        )


def _loaders(cfg: Config) -> list[ConfigDict]:
    loaders = [cfg.get(f'{part}_dataloader') for part in ('train', 'val', 'test')]
    loaders += [(cfg.get(f'{part}_cfg') or {}).get('bank_dataloader') for part in ('val', 'test')]
    return [loader for loader in loaders if loader is not None]
