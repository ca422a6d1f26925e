"""Protocols that train: the batch for any number of processes, and whether the model can be trained at all."""

import copy

from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.engine.runners.dry_run import told_as_user_error
from mixcl.errors import UserError
from mixcl.registry import MODELS

SAMPLERS = ('KeyedSampler', 'RepeatedKeyedSampler')


def keep_batch(cfg: Config, processes: int) -> None:
    """Let all processes together take as many images per step as the recipe's learning rate is for; in place.

    That number is ``auto_scale_lr.base_batch_size``. A process sees at most ``train_dataloader.batch_size`` images at
    once; where the processes are too few for the recipe's batch, gradients of several are accumulated. Epochs end with
    a step. Only batch normalisation that is being trained tells the difference: its statistics are those of the images
    seen at once.

    Args:
        cfg: of a protocol that trains.
        processes: how many train together.

    Raises:
        UserError: if the processes cannot share the batch evenly.
    """
    batch = (cfg.get('auto_scale_lr') or {}).get('base_batch_size')
    if batch is None:
        return
    if batch % processes:
        raise UserError(
            f'{cfg.config_name} trains with batches of {batch} images, which {processes} processes cannot share: '
            'start another number of processes, or choose another batch and its learning rate by --cfg-options '
            'auto_scale_lr.base_batch_size=... optim_wrapper.optimizer.lr=...'
        )
    cfg.auto_scale_lr.enable = False  # the batch is what the rate is for
    if str(cfg.train_dataloader.sampler.type).removeprefix('mixcl.') in SAMPLERS:
        cfg.train_dataloader.sampler.multiple_of = batch
    share = batch // processes
    most = min(cfg.train_dataloader.batch_size, share)
    at_once = next(size for size in range(most, 0, -1) if share % size == 0)
    cfg.train_dataloader.batch_size = at_once
    if at_once < share:
        cfg.optim_wrapper.accumulative_counts = share // at_once


def check_trainable(cfg: Config) -> None:
    """Build a config's model and optimizer, to meet before anything starts what training would meet.

    Layer-wise learning rates need a backbone that tells the depth of its layers, which not every one does.

    Args:
        cfg: of a protocol that trains; not changed.

    Raises:
        UserError: if model or optimizer cannot be built.
    """
    # How batches are mixed has no part in it, and mmpretrain would log a line about it.
    model = {name: value for name, value in cfg.model.items() if name != 'train_cfg'}
    model.setdefault('data_preprocessor', cfg.get('data_preprocessor'))
    with DefaultScope.overwrite_default_scope('mixcl'), told_as_user_error(f'{cfg.config_name} with this backbone'):
        build_optim_wrapper(MODELS.build(copy.deepcopy(model)), copy.deepcopy(cfg.optim_wrapper))
