"""From the command line to a Runner: configs read and checked, processes joined, weights checked."""

import atexit
import gc
import logging
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from mmengine.dist import broadcast_object_list, is_main_process
from mmengine.logging import print_log
from mmengine.runner import Runner

from mixcl.configuration import (
    built_from,
    check_config,
    check_data_roots,
    check_files,
    check_overrides,
    config_from_file,
    schedule_notes,
    set_data_root,
)
from mixcl.configuration.paths import walk
from mixcl.distributed import unwrapped
from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.changed_config import NewSettingsHook, check_changes
from mixcl.engine.runners.dry_run import try_schedules, try_views
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, ShardedStatesHook
from mixcl.engine.runners.work_dir import (
    ReleaseHook,
    RunLock,
    check_unused,
    config_name,
    remove_checkpoints,
)
from mixcl.errors import UserError
from mixcl.files import check_writable
from mixcl.weights import (
    check_fits,
    check_resumable,
    load_checkpoints_as_data,
    newest_checkpoint,
    read_checkpoint,
    stored_config,
)

FUSED = ('Adam', 'AdamW', 'SGD')
"""Optimisers of torch that have a fused implementation."""


def read_config(path: str | Path, overrides: dict | None = None, data_root: str | None = None) -> Config:
    """Read a config file, apply what the command line says, and check every key.

    The config's own name is noted in it as ``config_name``, so that checkpoints carry it.

    Args:
        path: of the config file.
        overrides: of ``--cfg-options``, dotted names to values.
        data_root: of ``--data-root``; becomes the root of every data set.

    Raises:
        UserError: if the file is missing or cannot be evaluated, or for a key that nothing reads.
    """
    if not Path(path).is_file():
        raise UserError(f'there is no config file {path}; configs lie under configs/, for example configs/patchmix/')
    # Modules that a config in Python imports (custom_imports) may lie beside it.
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path and Path(path).suffix == '.py':
        sys.path.insert(0, folder)
    try:
        cfg = config_from_file(path)
        cfg.items()  # imports what a config names by import
    except UserError:
        raise
    except Exception as error:  # a config is a program, and may raise anything
        reason = ' '.join(str(error).split())
        raise UserError(f'the config {path} cannot be read: {type(error).__name__}: {reason}') from error
    if overrides:
        check_overrides(cfg, overrides)
        cfg.merge_from_dict(overrides)
    if data_root is not None:
        set_data_root(cfg, data_root)
    check_config(cfg)
    cfg.setdefault('config_name', config_name(path))
    return cfg


def process_count(launcher: str) -> int:
    """How many processes a launcher has started, before they have joined."""
    variable = dict(pytorch='WORLD_SIZE', slurm='SLURM_NTASKS', mpi='OMPI_COMM_WORLD_SIZE').get(launcher, '')
    return int(os.environ.get(variable, 1))


def use_launcher(cfg: Config, launcher: str) -> None:
    """Join the processes that a launcher started (torchrun, SLURM, MPI); on machines without a GPU through gloo.

    Raises:
        UserError: if the launcher's environment is missing, or cannot work without a GPU.
    """
    cfg.launcher = launcher
    if launcher == 'none':
        return
    if launcher == 'pytorch' and 'RANK' not in os.environ:
        raise UserError('--launcher pytorch is for processes started by torchrun; use tools/dist_train.sh CONFIG GPUS')
    atexit.register(_leave)
    if torch.cuda.is_available():
        return
    if launcher != 'pytorch':
        raise UserError(f'--launcher {launcher} needs a GPU on every node; without one use torchrun')
    # mmengine picks a GPU whatever the backend, so a run on CPUs joins its processes before.
    if not torch.distributed.is_initialized():  # one command may run several configs
        seconds = (cfg.env_cfg.get('dist_cfg') or {}).get('timeout')
        timeout = None if seconds is None else timedelta(seconds=seconds)
        torch.distributed.init_process_group('gloo', timeout=timeout)
    cfg.env_cfg.dist_cfg = dict(backend='gloo')
    if cfg.get('model_wrapper_cfg') is None:
        cfg.model_wrapper_cfg = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    for _, part in walk(cfg.get('model')):
        if isinstance(part, dict) and part.get('type') == 'SyncBN':
            part['type'] = 'mixcl.SyncBatchNorm'  # torch's refuses CPUs


def _leave() -> None:
    """Take leave of the other processes.

    Threads of gloo that still hold a tensor when Python ends would abort a process that has finished. They end with
    the process groups, and these once nothing refers to them: not the run, which is full of cycles.
    """
    gc.collect()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def build_runner(cfg: Config, overwrite: bool = False, allow_changes: bool = False) -> Runner:
    """Check the data folders and build the Runner; where it takes weights from a checkpoint, check that they fit.

    A run that trains holds its work dir from here to its end. A Runner that only tests does not initialise weights, so
    that is done here where it loads no checkpoint of its own. A start that fails leaves no new files.

    Args:
        cfg: of the run.
        overwrite: remove the checkpoints that an earlier run has left in the work dir.
        allow_changes: let a resumed run compute something else than before.

    Raises:
        UserError: for a missing data folder, a work dir of another run, or a checkpoint that is missing, of another
            architecture, or of a run that computed something else.
    """
    check_files(cfg)
    check_data_roots(cfg)
    for note in schedule_notes(cfg):
        print_log(note, level=logging.WARNING)
    load_checkpoints_as_data()
    _adapt_to_machine(cfg)
    if not cfg.get('train_cfg'):
        check_writable(cfg.work_dir, '--work-dir')
        return _build(cfg)
    try_schedules(cfg)
    lock = on_main_process(partial(_enter, cfg, overwrite))
    try:
        runner = _build(cfg, allow_changes)
    except BaseException:
        if lock is not None:
            lock.abandon()
        raise
    if lock is not None:
        if overwrite:
            remove_checkpoints(cfg.work_dir)
        runner.register_hook(ReleaseHook(lock))
    return runner


def _enter(cfg: Config, overwrite: bool) -> RunLock:
    if not overwrite:
        check_unused(cfg.work_dir, cfg.get('resume') and (cfg.get('load_from') or True))
    lock = RunLock(cfg.work_dir)
    lock.acquire()
    return lock


def _build(cfg: Config, allow_changes: bool = False) -> Runner:
    with built_from(cfg):
        runner = Runner.from_cfg(cfg)
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
            _check_same_run(runner, checkpoint, path, allow_changes)
        check_fits(model, checkpoint, path)
    for hook in runner.hooks:
        if isinstance(hook, PretrainedBackboneHook):
            hook.check(runner)
    if not path and runner.cfg.get('train_cfg') is None:
        model.init_weights()


def _check_same_run(runner: Runner, checkpoint: dict, path: str, allow: bool) -> None:
    stored, meta = stored_config(checkpoint, path), checkpoint['meta']
    if stored is not None:
        lines = check_changes(stored, runner.cfg, meta.get('world_size', runner.world_size), path, allow)
        for line in lines:
            runner.logger.info(f'--resume: {line}')
        if lines:
            runner.register_hook(NewSettingsHook())
    length = runner.train_loop.max_epochs if 'max_epochs' in runner.cfg.train_cfg else runner.cfg.train_cfg.max_iters
    if meta['epoch' if 'max_epochs' in runner.cfg.train_cfg else 'iter'] >= length:
        runner.logger.info(f'--resume: {path} is the end of a finished run; a larger max_epochs would continue it')


def _adapt_to_machine(cfg: Config) -> None:
    """No pinned memory without a GPU, for which torch would warn at every loader; and with one a fused optimiser.

    That is faster, and NonFiniteHook need not wait for the device before each step. Not under loss scaling, where the
    optimiser and hooks that clip gradients would see them before the scale is undone.
    """
    for loader in _loaders(cfg):
        if not loader.get('num_workers'):
            loader.persistent_workers = False
        if not torch.cuda.is_available():
            loader.pin_memory = False
    wrapper = cfg.get('optim_wrapper') or {}
    optimizer = wrapper.get('optimizer') or {}
    scaled = str(wrapper.get('type')).endswith('AmpOptimWrapper')
    if torch.cuda.is_available() and optimizer.get('type') in FUSED and 'foreach' not in optimizer and not scaled:
        optimizer.setdefault('fused', True)


def _add_scale_switches(runner: Runner) -> None:
    """What mmengine's own switches do only in part."""
    if isinstance(runner.model, MMFullyShardedDataParallel):
        runner.register_hook(ShardedStatesHook())
        runner._init_model_weights = lambda: None  # done before they were shared out
    names = runner.cfg.pop('activation_checkpointing', None)
    if names is not None:
        checkpoint_activations(unwrapped(runner.model), names)
        runner.logger.info(f'activations are computed twice instead of kept: {names}')


def on_main_process(act: Callable[[], Any], shared: bool = False) -> Any:
    """Let the first process act, and all of them raise the error that it met.

    Args:
        act: what to do.
        shared: whether every process gets the result; by default the others get None.

    Raises:
        UserError: that of the first process.
    """
    result: Any = None
    told: list[Any] = [None]
    if is_main_process():
        try:
            result = act()
            told = [result if shared else None]
        except UserError as error:
            told = [error]
    broadcast_object_list(told)
    if isinstance(told[0], UserError):
        raise told[0]
    return told[0] if shared else result


def _loaders(cfg: Config) -> list[ConfigDict]:
    loaders = [cfg.get(f'{part}_dataloader') for part in ('train', 'val', 'test')]
    loaders += [(cfg.get(f'{part}_cfg') or {}).get('bank_dataloader') for part in ('val', 'test')]
    return [loader for loader in loaders if loader is not None]
