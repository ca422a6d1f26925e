"""Building a Runner from a config: its work dir is locked, its parts are built, its weights are checked."""

from collections.abc import Sequence
from functools import partial

import torch
from mmengine.config import Config
from mmengine.dist import is_distributed, is_main_process
from mmengine.runner import Runner

from mixcl.distributed import process_count, unwrapped
from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.engine.hooks.run_lock import RunLock
from mixcl.engine.hooks.sharded_states import ShardedStatesHook
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.compiling import check_compiling, compile_blocks
from mixcl.engine.runners.dry_run import check_classes, schedule_notes, try_views
from mixcl.engine.runners.processes import join_processes, on_main_process
from mixcl.engine.runners.quiet_runner import QuickConfig, QuietRunner
from mixcl.engine.runners.same_run import check_same_run
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.engine.runners.trial_step import try_step
from mixcl.engine.runners.work_dir import check_unused, remove_checkpoints
from mixcl.files import check_writable
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.recipes.building import built_from, check_built, check_parts
from mixcl.recipes.data_roots import check_data_roots, check_files
from mixcl.recipes.paths import pretrains
from mixcl.registry import thawed
from mixcl.weights import (
    check_fits,
    check_resumable,
    load_checkpoints_as_data,
    newest_checkpoint,
    read_checkpoint,
)
from mixcl.weights.teacher import Teacher

SWITCHES = ('activation_checkpointing', 'compile')
"""Settings that the Runner does not see."""


def build_runner(cfg: Config, overwrite: bool = False, allow_changes: bool = False) -> Runner:
    """Check the data folders and build the Runner; check that weights from a checkpoint, if any, fit it.

    A run that trains holds its work dir from here to its end.

    Args:
        overwrite: remove the checkpoints that an earlier run has left in the work dir.
        allow_changes: let a resumed run compute something other than before.

    Raises:
        UserError: for a missing data folder, a work dir of another run, or a checkpoint that is missing, of another
            architecture, or of a run that computed something else.
    """
    if pretrains(cfg) and not is_distributed():
        try_step(cfg, check_built(cfg), process_count(cfg.get('launcher', 'none')))
    else:  # the Runner builds model, optimiser and hooks before it reads data
        check_parts(cfg)
    join_processes(cfg)
    check_files(cfg)
    check_data_roots(cfg)
    check_compiling(cfg)
    load_checkpoints_as_data()
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision('high')  # TF32 for what stays float32 under autocast
    if not cfg.get('train_cfg'):
        check_writable(cfg.work_dir, '`work_dir`')
        return _build(cfg)
    lock = RunLock(cfg.work_dir)  # held by the main process for all

    def enter() -> None:
        lock.acquire()
        check_unused(cfg, overwrite)

    try:
        on_main_process(enter)
        runner = _build(cfg, allow_changes)
    except BaseException:
        lock.release()
        raise
    for note in schedule_notes(cfg):
        runner.logger.warning(note)
    if overwrite and is_main_process():
        remove_checkpoints(cfg.work_dir)
    runner.register_hook(lock)
    return runner


def _build(cfg: Config, allow_changes: bool = False) -> Runner:
    # mmengine would compile the whole step, and checkpoint activations so that running statistics see a batch twice.
    sections = {name: value for name, value in thawed(cfg._cfg_dict).items() if name not in SWITCHES}
    with built_from(cfg):
        runner = QuietRunner.from_cfg(QuickConfig(sections, filename=cfg.filename))
    check_classes(cfg, unwrapped(runner.model))
    _add_scale_switches(runner, *map(cfg.get, SWITCHES))
    if cfg.get('train_cfg'):
        # The Runner would build it only after reading the data.
        with built_from(cfg):
            runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
        try_views(cfg, unwrapped(runner.model))
    path = cfg.get('load_from')
    if cfg.get('resume') and not path:
        # Only once the processes have joined: on a shared disk they may see different files.
        path = on_main_process(partial(newest_checkpoint, cfg.work_dir))
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
    target = getattr(model, 'target', None)
    if isinstance(target, Teacher) and runner.cfg.get(
        'train_cfg'
    ):  # its file is read now, and not when the first images have been
        target.copy_weights(model.backbone, model.neck)
    if not path and runner.cfg.get('train_cfg') is None:
        model.init_weights()  # a Runner does so only to train


def _add_scale_switches(runner: Runner, names: Sequence[str] | None, compiled: bool | dict | None) -> None:
    """Shard, checkpoint activations or compile, as configured; mmengine does so only in part."""
    if isinstance(runner.model, MMFullyShardedDataParallel):
        runner.register_hook(ShardedStatesHook())
        runner._init_model_weights = lambda: None  # done before they were sharded
    if names is not None:
        checkpoint_activations(unwrapped(runner.model), names)
        runner.logger.info(
            f'activations are recomputed in the backward pass instead of kept: {names}', extra=FOR_PEOPLE
        )
    if compiled:
        number = compile_blocks(unwrapped(runner.model), compiled)
        runner.logger.info(
            f'{number} blocks are compiled; the first steps of each resolution take minutes', extra=FOR_PEOPLE
        )
