"""The batch of a recipe, whatever the number of processes."""

from mmengine.config import Config

from mixcl.errors import UserError

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
