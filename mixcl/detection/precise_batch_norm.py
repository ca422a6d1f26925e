"""Batch-norm statistics averaged over many batches of the finished weights, before a detector is tested."""

from collections.abc import Iterator

from mmengine.runner import Runner
from mmpretrain.engine.hooks import PreciseBNHook
from mmpretrain.engine.hooks.precise_bn_hook import update_bn_stats
from torch.utils.data import DataLoader

from mixcl.registry import HOOKS


class _Batches:
    """A data loader that knows its batch size also when a batch sampler makes its batches."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader
        self.batch_size = loader.batch_size or loader.batch_sampler.batch_size

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[dict]:
        return iter(self.loader)


@HOOKS.register_module()
class PreciseBatchNormHook(PreciseBNHook):
    """mmpretrain's ``PreciseBNHook`` for mmdet's data loaders, whose batches a sampler groups by aspect ratio.

    Args:
        num_samples: images to average over, of all processes together; detectron2 takes 200 batches.
        interval: in epochs, or in steps where the loop counts steps.

    Source: MoCo's detection protocol (He et al., Momentum Contrast, 2020, appendix); Wu and Johnson, Rethinking
    "Batch" in BatchNorm, 2021, section 3.
    """

    def _perform_precise_bn(self, runner: Runner) -> None:
        batches = _Batches(runner.train_loop.dataloader)
        update_bn_stats(runner.model, batches, self.num_samples, logger=runner.logger)
