"""Batch-norm statistics of the current weights, averaged over many batches before a detector is tested."""

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from mmengine.dist import all_reduce, get_rank
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.runner import IterBasedTrainLoop, Runner
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.data import DataLoader

from mixcl.distributed import unwrapped
from mixcl.randomness import seed_global_generators
from mixcl.registry import HOOKS


@HOOKS.register_module()
class PreciseBatchNormHook(Hook):
    """Precise batch-norm statistics for mmdet's detectors, before every validation and at the end of training.

    ``mmpretrain.PreciseBNHook`` supports no batch samplers, and calls detectors as in a test.

    Args:
        num_samples: images to average over in all processes together, rounded down to whole batches, at least one;
            detectron2 takes 200 batches.

    Source: MoCo's detection protocol (He et al., Momentum Contrast, 2020, appendix); Wu and Johnson, Rethinking
    "Batch" in BatchNorm, 2021, section 3.
    """

    priority = 'ABOVE_NORMAL'  # before checkpoints are saved

    def __init__(self, num_samples: int) -> None:
        self.num_samples = num_samples

    def after_train_iter(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        if isinstance(runner.train_loop, IterBasedTrainLoop):
            interval = runner.train_loop.val_interval
            if self.every_n_train_iters(runner, interval) or self.is_last_train_iter(runner):
                self._update(runner)

    def after_train_epoch(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        if not isinstance(runner.train_loop, IterBasedTrainLoop):
            interval = runner.train_loop.val_interval
            if self.every_n_epochs(runner, interval) or self.is_last_train_epoch(runner):
                self._update(runner)

    def _batches(self, runner: Runner) -> Iterator[dict]:
        """Return the first batches of an epoch from new workers, since those of the loader may serve training."""
        loader = runner.train_dataloader
        batches = copy.copy(loader.batch_sampler)
        batches.sampler = copy.copy(batches.sampler)
        for part in (batches, batches.sampler):
            if hasattr(part, 'start'):  # a resumed run has moved it
                part.start = 0
        names = ('num_workers', 'collate_fn', 'worker_init_fn', 'pin_memory')
        options = {name: getattr(loader, name) for name in names}
        count = max(1, self.num_samples // (batches.batch_size * runner.world_size))
        return islice(DataLoader(loader.dataset, batch_sampler=batches, **options), count)

    @torch.no_grad()
    def _update(self, runner: Runner) -> None:
        detector = unwrapped(runner.model)
        norms = [layer for layer in detector.modules() if isinstance(layer, _BatchNorm) and layer.training]
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean over all batches
        # Which boxes are sampled must not depend on the run's history.
        seed_global_generators(runner.seed, runner.iter, get_rank(), 'precise batch norm')
        for batch in self._batches(runner):
            # Called as in training, so that heads see boxes as sampled there; mmdet's plain call uses a test's.
            detector(**detector.data_preprocessor(batch, training=True), mode='loss')
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
            all_reduce(norm.running_mean, 'mean')
            all_reduce(norm.running_var, 'mean')
        print_log(f'precise statistics of {len(norms)} batch norms from {self.num_samples} images', runner.logger)
