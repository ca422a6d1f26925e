"""A training iteration of a config on synthetic images."""

from collections.abc import Callable

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.algorithms import Learner
from mixcl.engine.hooks.health.throughput import flop_counter
from mixcl.engine.runners.quiet_runner import put_channels_last, with_fused_optimizer
from mixcl.engine.runners.trial_step import synthetic_batch
from mixcl.recipes.paths import whole_model
from mixcl.registry import MODELS


class SyntheticIteration:
    """Model and optimiser of a pretraining config, and one batch of its own views of synthetic images.

    Both are built as for a run: channels last, a fused optimiser. If a batch makes several iterations (APS), the
    iteration uses its first chunk.

    Args:
        cfg: a pretraining config; its data set is not read.
        batch_size: images per iteration, at least 2.
        device: 'cpu' or 'cuda'.
        views: where views are finished; with 'device' an iteration does their photometry.

    Raises:
        UserError: if the config cannot use such a batch.
    """

    def __init__(self, cfg: Config, batch_size: int, device: str = 'cpu', views: str = 'pillow') -> None:
        self.device = torch.device(device)
        self.batch_size = batch_size
        self.epochs = cfg.train_cfg.max_epochs
        with DefaultScope.overwrite_default_scope('mixcl'):
            self.model: Learner = MODELS.build(whole_model(cfg)).to(self.device).train()
            put_channels_last(self.model)
            self.optimizer = build_optim_wrapper(self.model, with_fused_optimizer(cfg.optim_wrapper))
            self.batch = synthetic_batch(cfg, self.model, batch_size, views)
        self.model.check_batch([crop[0] for crop in self.batch['inputs']], batch_size)

    def run(self) -> None:
        """Run an iteration, except for loading its data."""
        self.model.train_step(self.batch, self.optimizer)
        self.model.end_step(0.5, self.epochs)  # costs the same at any point of the run


def count_flops(function: Callable[[], object]) -> int:
    """Return the FLOPs of a call."""
    with flop_counter() as counter:
        function()
    return counter.get_total_flops()
