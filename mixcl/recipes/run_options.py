"""Options of how a made config is run, in place: its name, initial weights, precision, time and processes."""

import os
import re
from pathlib import Path

import torch
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.paths import kind_of, walk
from mixcl.shipped import named_by_data
from mixcl.weights import RANDOM

LONGEST_NAME = 100


def use_mixed_precision(cfg: Config) -> None:
    """Train under bfloat16 autocast (``--amp``); raises UserError if the config already has a special wrapper."""
    kind = cfg.optim_wrapper.get('type', 'OptimWrapper')
    if str(kind).removeprefix('mixcl.') not in ('OptimWrapper', 'BFloat16OptimWrapper'):
        raise UserError(
            f'`amp` replaces a plain OptimWrapper, but the config has optim_wrapper.type={kind!r}; leave out `amp` or '
            'set the wrapper in the config'
        )
    cfg.optim_wrapper.type = 'mixcl.BFloat16OptimWrapper'  # with its scope, for configs of other libraries


def use_name(cfg: Config, name: str | None, data: str | None) -> None:
    """Note the name of a run, else that of its config and data; raises UserError for one that is no title."""
    if name is not None and not (name.isprintable() and 0 < len(name.strip()) <= LONGEST_NAME):
        raise UserError(f'`name={name[:LONGEST_NAME]!r}` must have 1 to {LONGEST_NAME} printable characters')
    if name is not None or (data and cfg.get('config_name')):
        cfg.run_name = name or named_by_data(cfg.config_name, data.partition(':')[0])


def use_pretrained(cfg: Config, checkpoint: str | Path, encoder: str | None = None) -> None:
    """Start a run's backbone from a checkpoint, or 'random' for none (``--pretrained``, ``--encoder``).

    A ``PretrainedBackboneHook`` in the config keeps its other settings. The encoder is 'online' or 'target', or None
    for the config's ``protocol.encoder`` where the checkpoint has that one, else the online encoder. Raises UserError
    if the model has no backbone, or the config already loads another checkpoint.
    """
    model = cfg.get('model') or {}
    if not model.get('backbone'):
        raise UserError(f'`pretrained` loads a backbone, but model.type={model.get("type")!r} has none in the config')
    if cfg.get('load_from') and not cfg.get('resume'):
        raise UserError(f'`pretrained` and load_from={cfg.load_from!r} both give weights; leave one of them out')
    hooks = list(cfg.get('custom_hooks') or [])
    own = [hook for hook in hooks if kind_of(hook) == 'PretrainedBackboneHook']
    settings = dict(own[0]) if own else dict(type='mixcl.PretrainedBackboneHook')
    preferred = (cfg.get('protocol') or {}).get('encoder')
    chosen = encoder or (('target', 'online') if preferred == 'target' else 'online')
    loading = {**settings, 'checkpoint': str(checkpoint), 'encoder': chosen}
    cfg.custom_hooks = [*(hook for hook in hooks if hook not in own), *([loading] if str(checkpoint) != RANDOM else [])]


def limit_time(cfg: Config, duration: str) -> None:
    """End the run with a checkpoint after a ``duration`` such as 23h30m; raises UserError if it is none."""
    parts = re.fullmatch(r'(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?', duration.strip())
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups()) if parts else (0, 0, 0, 0)
    cfg.train_cfg.max_seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if cfg.train_cfg.max_seconds == 0:
        raise UserError(f'`max_time` takes a duration such as 23h30m, 90m or 45s, not {duration!r}')


def choose_tested(cfg: Config, checkpoint: str | None, pretrained: str | None, encoder: str | None) -> None:
    """Make a test load a whole checkpoint, or the backbone in one; raises UserError for the wrong one."""
    frozen = kind_of(cfg.model) == 'FrozenEncoder'
    unused = (checkpoint,) if frozen else (pretrained, encoder)
    if any(unused) or (pretrained if frozen else checkpoint) is None:
        wanted = '`pretrained=CHECKPOINT`' if frozen else 'the CHECKPOINT of a run of it (see mixcl train)'
        kind = cfg.model.get('type')
        raise UserError(f'{cfg.config_name} has model.type={kind!r}: give {wanted}, and no other weights or encoder')
    if frozen:
        use_pretrained(cfg, str(pretrained), encoder)
    else:
        cfg.load_from = checkpoint


def use_launcher(cfg: Config, launcher: str) -> None:
    """Join the processes of a launcher, without GPUs by gloo; raises UserError if that cannot work here."""
    cfg.launcher = launcher
    if launcher == 'pytorch' and 'RANK' not in os.environ:
        raise UserError(
            '`launcher=pytorch` is for processes started by torchrun --nproc-per-node GPUS -m mixcl COMMAND'
        )
    if launcher == 'none' or torch.cuda.is_available():
        return
    if launcher != 'pytorch':
        raise UserError(f'`launcher={launcher}` needs a GPU on every node; without one use torchrun')
    cfg.merge_from_dict({'env_cfg.dist_cfg.backend': 'gloo'})
    if cfg.get('model_wrapper_cfg') is None:
        cfg.model_wrapper_cfg = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    for _, part in walk(cfg.get('model')):
        if isinstance(part, dict) and part.get('type') == 'SyncBN':
            part['type'] = 'mixcl.SyncBatchNorm'  # torch's refuses CPUs


def lengthen_process_timeout(cfg: Config) -> None:
    """Make processes wait a day for the main one, which alone fits SVMs and probes; NCCL gives up after 10 minutes."""
    cfg.merge_from_dict({'env_cfg.dist_cfg.timeout': 24 * 3600})
