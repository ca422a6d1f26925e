"""Contrastive learning on two views of which the encoders see only sampled patches (APS)."""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mixcl.algorithms.checks import check_can_drop
from mixcl.algorithms.contrastive import ContrastiveLearner, Streams
from mixcl.encoders.shuffled_ema import ShuffledEMA
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class PatchSamplingLearner(ContrastiveLearner):
    """A :class:`ContrastiveLearner` whose encoders see only the patches that the data pipeline sampled (APS,
    "Asymmetric Patch Sampling for Contrastive Learning", 2023).

    The patches come in ``data_samples[i].tokens``, int64 (2 views, n), from ``SampledPatchPair`` through
    ``ChunkedPretrainLoop``. Mixed streams keep all their patches, and so does :meth:`extract_features`.

    Same arguments as :class:`ContrastiveLearner`; two views of one crop each, and a backbone that takes patch indices
    (``ContrastiveViT``).

    Raises:
        UserError: for other views or another backbone.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if list(self.recipe.views.values()) != [1, 1] or self.recipe.swap_views:
            raise UserError(
                'PatchSamplingLearner trains on two views of one crop each, which keep their places; it cannot use '
                f'model.views={self.recipe.views!r} with swap_views={self.recipe.swap_views!r}'
            )
        check_can_drop('', self.backbone)
        if self.patches is not None or self.recipe.masks:
            raise UserError(
                'PatchSamplingLearner drops patches of its views; leave out model.patches, and mask in streams'
            )
        if self.recipe.keep.keys() & self.recipe.views.keys():
            raise UserError(
                'PatchSamplingLearner samples the patches of its views itself; leave keep out of their model.streams'
            )
        if isinstance(self.target, ShuffledEMA):
            raise UserError('ShuffledEMA cannot drop patches, and ContrastiveViT does not need it; use EMA or StopGrad')

    def count_chunks(self, sample: dict) -> int:
        """Count the steps that a batch of such samples makes, see :class:`~mixcl.engine.ChunkedPretrainLoop`.

        Raises:
            UserError: if no patches were sampled, or if their grid (rows, columns) differs from the backbone's.
        """
        data = sample['data_samples']
        if 'tokens' not in data or 'patch_grid' not in data:
            raise UserError(
                'PatchSamplingLearner found no sampled patches in the training samples; make the views with '
                "SampledPatchPair and pack them with PackInputs, algorithm_keys=['tokens', 'patch_grid']"
            )
        grid, own = tuple(data.patch_grid), tuple(self.backbone.patch_resolution)
        if grid != own:
            raise UserError(
                f'SampledPatchPair samples from {grid[0]}x{grid[1]} patches, but the backbone has {own[0]}x{own[1]}; '
                'make patch_size and the size of the crops agree with model.backbone'
            )
        return data.tokens.shape[1]

    def chunk(self, batch: dict, number: int) -> dict:
        """Return the batch with the tokens (2 views, n) of one chunk instead of (2 views, chunks, n)."""
        parts = [copy.copy(sample) for sample in batch['data_samples']]
        self.count_chunks(dict(data_samples=parts[0]))
        for part in parts:
            part.tokens = part.tokens[:, number]
        return {**batch, 'data_samples': parts}

    def build_streams(self, crops: list[Tensor], data_samples: list | None = None) -> tuple[Streams, Streams]:
        online, whole = super().build_streams(crops, data_samples)
        sampled = self._tokens(data_samples).to(crops[0].device, non_blocking=True)
        for view, tokens in zip(self.recipe.views, sampled, strict=True):
            if view in whole:
                online[view] = whole[view] = replace(whole[view], tokens=tokens)
        return online, whole

    def _tokens(self, data_samples: list | None) -> Tensor:
        """Return the (2 views, B, n) int64 indices of the sampled patches."""
        if not data_samples or 'tokens' not in data_samples[0] or data_samples[0].tokens.dim() != 2:
            raise UserError(
                'PatchSamplingLearner found no patches of one chunk in its samples; make the views with '
                "SampledPatchPair and train with train_cfg.type='ChunkedPretrainLoop'"
            )
        return torch.stack([sample.tokens for sample in data_samples], dim=1)
