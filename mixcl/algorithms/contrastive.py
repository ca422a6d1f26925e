"""The engine: turns streams and a table of terms into named losses."""

from collections.abc import Sequence

import torch
from mmengine.dist import get_rank
from mmengine.model import BaseModel
from torch import Tensor
from torch.nn import functional

from mixcl.algorithms.streams import StepKey, Stream, StreamRecipe
from mixcl.algorithms.terms import parse_terms
from mixcl.encoders.passes import backbone_features, project
from mixcl.errors import UserError
from mixcl.losses import Objective
from mixcl.registry import LOSSES, MIXERS, MODELS, TARGET_ENCODERS


@MODELS.register_module()
class ContrastiveLearner(BaseModel):
    """Contrastive pretraining as a table of terms.

    A step builds the streams that the terms name, encodes each needed query stream with the online encoder (backbone,
    neck, predictor) and each key stream with the target encoder, and pulls every query row towards each key row in
    proportion to how much of their source images the two share. A method is a configuration of this class; see
    ``configs/``.

    The weights of the online backbone are stored under ``backbone.``, as in mmpretrain's classifiers.

    Args:
        backbone: config of the backbone; its last output is used, (R, C) or (R, C, h, w).
        neck: config of the projector, (R, C) -> (R, D).
        predictor: config of the predictor of queries, (R, D) -> (R, D).
        target: config of the target encoder, for example ``dict(type='EMA', momentum=0.996)``.
        objective: config of the objective, for example ``dict(type='InfoNCE', temperature=0.2)``.
        terms: rows ``(query stream, key stream, weight)`` or ``(..., dict of options)``.
        mixer: config of the mixer, or None where nothing is mixed.
        streams: mixed streams by name, for example ``dict(mix1=dict(mix='view1'))``.
        views: number of crops by view name, in the order of the data pipeline. Default: view1 and view2.
        data_preprocessor: config of the preprocessor; mmpretrain's ``SelfSupDataPreprocessor`` fits.

    Raises:
        UserError: for anything in the tables that does not fit together.
    """

    def __init__(
        self,
        backbone: dict,
        neck: dict,
        predictor: dict,
        target: dict,
        objective: dict,
        terms: Sequence[Sequence],
        mixer: dict | None = None,
        streams: dict[str, dict] | None = None,
        views: dict[str, int] | None = None,
        data_preprocessor: dict | None = None,
    ) -> None:
        super().__init__(data_preprocessor)
        recipe_views = dict(view1=1, view2=1) if views is None else views
        self.recipe = StreamRecipe(recipe_views, streams or {}, None if mixer is None else MIXERS.build(mixer))
        self.objective: Objective = LOSSES.build(objective)
        self.terms = parse_terms(terms, self.recipe.names, self.objective)
        self.query_names = {term.query for term in self.terms}
        self.key_names = {term.key for term in self.terms}
        self.backbone = MODELS.build(backbone)
        self.neck = MODELS.build(neck)
        self.predictor = MODELS.build(predictor)
        self.target = TARGET_ENCODERS.build(target, default_args=dict(backbone=self.backbone, neck=self.neck))
        self._key = StepKey(seed=0, step=0, rank=get_rank())

    def init_weights(self) -> None:
        super().init_weights()
        self.target.copy_weights(self.backbone, self.neck)

    # ----- what the train loop calls -----

    def check_batch(self, crops: list[Tensor], batch_size: int) -> None:
        """Raise UserError if batches of ``batch_size`` images with crops of these shapes (C, h, w) cannot be used."""
        self.recipe.check(crops, batch_size)

    def begin_step(self, key: StepKey) -> None:
        """Say which step this is; its mixing is a function of the key."""
        self._key = key

    def end_step(self, progress: float) -> dict[str, float]:
        """Let the target encoder follow after an optimiser step; returns values for the log."""
        return self.target.update(self.backbone, self.neck, progress)

    # ----- one step -----

    def forward(
        self, inputs: list[Tensor] | Tensor, data_samples: list | None = None, mode: str = 'tensor'
    ) -> dict[str, Tensor] | Tensor:
        """mmengine's entry: mode 'loss' takes the list of view batches, 'tensor' one batch of images."""
        if mode == 'loss':
            return self.loss(inputs)
        if mode == 'tensor':
            return self.extract_features(inputs)
        raise UserError(f'ContrastiveLearner has the modes loss and tensor, not {mode!r}; for kNN use a KNNLoop')

    def loss(self, inputs: list[Tensor]) -> dict[str, Tensor]:
        """Named losses of one step, and the spread of the features, from view batches (B, 3, h, w) each."""
        streams = self.recipe.build(inputs, self.query_names | self.key_names, self._key)
        features = backbone_features(self.backbone, self._images(streams, self.query_names))
        projections = project(self.neck, features)
        key_images = self._images(streams, self.key_names)
        raw_keys = self.target.keys(key_images, projections, self.backbone, self.neck)

        queries = {name: self.objective.prepare_query(self.predictor(z)) for name, z in projections.items()}
        keys = {name: self.objective.prepare_key(z) for name, z in raw_keys.items()}
        outputs = self._term_losses(streams, queries, keys)
        outputs['feature_std'] = feature_std(features[self.terms[0].query])
        return outputs

    def _term_losses(
        self, streams: dict[str, Stream], queries: dict[str, Tensor], keys: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        losses = {}
        for term in self.terms:
            key_rows = streams[term.key].composition
            start = self.objective.key_start(len(key_rows))
            target = streams[term.query].composition.target(key_rows, start)
            rows = self.objective(queries[term.query], keys[term.key], target, **term.options)
            losses[term.name] = term.weight * _mean_over(rows, target.valid)
        return losses

    def _images(self, streams: dict[str, Stream], names: set[str]) -> dict[str, Tensor]:
        # In the order of the recipe: a set has no order that all processes share.
        return {name: streams[name].images for name in self.recipe.names if name in names}

    # ----- evaluation and reports -----

    @property
    def encoder_names(self) -> tuple[str, ...]:
        """The encoders that can be evaluated: 'online', and 'target' where it has weights of its own."""
        return ('online', 'target') if self.target.own_weights else ('online',)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """(B, C) backbone features, before the head, of normalised images (B, 3, H, W). Maps are averaged over space.

        Raises:
            UserError: for an encoder that this model does not have.
        """
        if encoder not in self.encoder_names:
            raise UserError(f'this model has no {encoder!r} encoder; it has {", ".join(self.encoder_names)}')
        backbone = self.backbone if encoder == 'online' else self.target.backbone
        features = backbone_features(backbone, dict(images=images))['images']
        return features.mean(dim=(2, 3)) if features.dim() == 4 else features

    def passes_per_image(self) -> tuple[int, int]:
        """Encoder passes per loaded image in a step: with gradient, and without."""
        without = self.target.passes(self.query_names, self.key_names)
        return sum(map(self.recipe.crops, self.query_names)), sum(map(self.recipe.crops, without))


def feature_std(features: Tensor) -> Tensor:
    """Spread of L2-normalised features (R, C) over a batch, scaled by sqrt(C): about 1 if spread out, 0 if collapsed.

    Taken before the head, whose batch normalisation would hide a collapse.
    """
    with torch.no_grad():
        flat = features.detach().float()
        flat = functional.normalize(flat.mean(dim=(2, 3)) if flat.dim() == 4 else flat, dim=1)
        return flat.std(dim=0, unbiased=False).mean() * flat.shape[1] ** 0.5


def _mean_over(rows: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, rows, torch.zeros_like(rows)).sum() / valid.sum().clamp_min(1)
