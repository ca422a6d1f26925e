"""Processes of a run: how many, how they join and part, and what one of them does for all."""

import atexit
import gc
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dist import broadcast_object_list, init_dist, is_distributed, is_main_process
from mmengine.utils.dl_utils import set_multi_processing

from mixcl.distributed import silent_stdout
from mixcl.errors import UserError


def join_processes(cfg: Config) -> None:
    """Join the processes that the config's launcher started, before one of them takes the work dir for all."""
    launcher = cfg.get('launcher', 'none')
    if launcher == 'none' or is_distributed():  # one command may run several configs
        return
    atexit.register(_leave)
    environment = cfg.get('env_cfg') or {}
    settings = environment.get('dist_cfg') or {}
    if torch.cuda.is_available():
        set_multi_processing(**environment.get('mp_cfg', {}), distributed=True)
        init_dist(launcher, **settings)
        return
    # mmengine picks a GPU whatever the backend, so a run on CPUs joins its processes here.
    seconds = settings.get('timeout')
    timeout = None if seconds is None else timedelta(seconds=seconds)
    with silent_stdout():  # gloo prints who is connected to whom
        torch.distributed.init_process_group('gloo', timeout=timeout)


def _leave() -> None:
    """Destroy the process groups, and thus gloo's threads, which would abort a process that has finished.

    A process group is freed only when unreferenced; the run holds it in reference cycles, hence gc.collect().
    """
    gc.collect()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def on_main_process(act: Callable[[], Any]) -> Any:
    """Call ``act`` in the first process and return its result in all processes.

    If it fails there, all fail at once: the first process by the error itself, the others by a UserError, which only
    the first process of a command reports.
    """
    told: list[Any] = [None, None]
    failure = None
    if is_main_process():
        try:
            told[0] = act()
            pickle.dumps(told)  # or the others would wait for what cannot be sent
        except BaseException as error:
            failure = error
            told = [None, str(error) if isinstance(error, UserError) else f'the first process failed: {error!r}']
            failure.on_one_process_only = False  # type: ignore[attr-defined]
    broadcast_object_list(told)
    result, message = told
    if failure:
        raise failure
    if message is not None:
        raise UserError(message)
    return result
