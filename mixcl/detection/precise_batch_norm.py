"""Batch-norm statistics averaged over many batches of the finished weights, before a detector is tested."""

import copy
from collections.abc import Iterator
from typing import Any, cast

from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.model import BaseModel, is_model_wrapper
from mmengine.runner import IterBasedTrainLoop, Runner
from mmpretrain.engine.hooks.precise_bn_hook import update_bn_stats
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader

from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import HOOKS


class _Batches:
    """The first batches of a data loader's epoch, from workers of their own: those of the loader may be training.

    Unlike a ``DataLoader``, it knows the batch size when a batch sampler makes the batches.
    """

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader
        self.batch_sampler = cast(BatchSampler, loader.batch_sampler)  # or mmdet's, with the same attributes
        self.batch_size = loader.batch_size or self.batch_sampler.batch_size

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[dict]:
        batches = copy.copy(self.batch_sampler)
        batches.sampler = copy.copy(batches.sampler)
        for part in (batches, batches.sampler):
            if hasattr(part, 'start'):  # which a resumed run has moved
                part.start = 0
        names = ('num_workers', 'collate_fn', 'worker_init_fn', 'pin_memory')
        options = {name: getattr(self.loader, name) for name in names}
        return iter(DataLoader(self.loader.dataset, batch_sampler=batches, **options))


class _InTraining(nn.Module):
    """A detector whose call is that of a training step, so that its heads see the boxes that training samples.

    mmdet's plain call takes the proposals of a test instead, and of those the first hundred for the mask head.
    """

    def __init__(self, detector: BaseModel) -> None:
        super().__init__()
        self.detector = detector

    def data_preprocessor(self, data: dict, training: bool) -> dict:
        return self.detector.data_preprocessor(data, training=True)

    def forward(self, **data: Any) -> dict[str, Tensor]:
        return self.detector(**data, mode='loss')


@HOOKS.register_module()
class PreciseBatchNormHook(Hook):
    """mmpretrain's precise statistics for mmdet's detectors, before every validation and at the end of training.

    Args:
        num_samples: images to average over, of all processes together; detectron2 takes 200 batches.

    Raises:
        UserError: before training, if ``num_samples`` is less than one batch.

    Source: MoCo's detection protocol (He et al., Momentum Contrast, 2020, appendix); Wu and Johnson, Rethinking
    "Batch" in BatchNorm, 2021, section 3.
    """

    priority = 'ABOVE_NORMAL'  # before checkpoints are saved

    def __init__(self, num_samples: int) -> None:
        self.num_samples = num_samples

    def before_train(self, runner: Runner) -> None:
        batch = _Batches(runner.train_dataloader).batch_size * runner.world_size
        if self.num_samples < batch:
            raise UserError(f'PreciseBatchNormHook: num_samples={self.num_samples} is less than a batch of {batch}')

    def after_train_iter(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        """Where the loop counts steps."""
        loop = runner.train_loop
        if isinstance(loop, IterBasedTrainLoop) and (
            self.every_n_train_iters(runner, loop.val_interval) or self.is_last_train_iter(runner)
        ):
            self._update(runner)

    def after_train_epoch(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        """Where the loop counts epochs."""
        loop = runner.train_loop
        if not isinstance(loop, IterBasedTrainLoop) and (
            self.every_n_epochs(runner, loop.val_interval) or self.is_last_train_epoch(runner)
        ):
            self._update(runner)

    def _update(self, runner: Runner) -> None:
        detector = runner.model.module if is_model_wrapper(runner.model) else runner.model
        batches = _Batches(runner.train_dataloader)
        # Which boxes are sampled must not depend on the run's history.
        seed_global_generators(runner.seed, runner.iter, get_rank(), 'precise batch norm')
        update_bn_stats(_InTraining(detector), batches, self.num_samples, logger=runner.logger)
