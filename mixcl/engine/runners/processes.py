"""The processes of a run: how many, how they join and part, and what one of them does for all."""

import atexit
import gc
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dist import broadcast_object_list, init_dist, is_distributed, is_main_process
from mmengine.utils.dl_utils import set_multi_processing

from mixcl.configuration.paths import walk
from mixcl.distributed import silent_stdout
from mixcl.errors import UserError


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
        raise UserError('`launcher=pytorch` is for processes started by torchrun; use tools/dist_train.sh CONFIG GPUS')
    atexit.register(_leave)
    environment = cfg.get('env_cfg') or {}
    if torch.cuda.is_available():
        if not is_distributed():  # one command may run several configs
            # Before the Runner would, since one process takes the work dir for all.
            set_multi_processing(**environment.get('mp_cfg', {}), distributed=True)
            init_dist(launcher, **environment.get('dist_cfg', {}))
        return
    if launcher != 'pytorch':
        raise UserError(f'`launcher={launcher}` needs a GPU on every node; without one use torchrun')
    # mmengine picks a GPU whatever the backend, so a run on CPUs joins its processes before.
    if not is_distributed():
        seconds = (environment.get('dist_cfg') or {}).get('timeout')
        timeout = None if seconds is None else timedelta(seconds=seconds)
        with silent_stdout():  # gloo tells who is connected to whom
            torch.distributed.init_process_group('gloo', timeout=timeout)
    cfg.env_cfg = {**environment, 'dist_cfg': dict(backend='gloo')}
    if cfg.get('model_wrapper_cfg') is None:
        cfg.model_wrapper_cfg = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    for _, part in walk(cfg.get('model')):
        if isinstance(part, dict) and part.get('type') == 'SyncBN':
            part['type'] = 'mixcl.SyncBatchNorm'  # torch's refuses CPUs


def _leave() -> None:
    """End the threads of gloo, which would abort a process that has finished, with the process groups.

    These end once nothing refers to them: not the run, which is full of cycles.
    """
    gc.collect()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def on_main_process(act: Callable[[], Any], shared: bool = False) -> Any:
    """Let the first process act, and all raise the UserError that it met; the others get its result if ``shared``."""
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
