"""The engine: turns streams and a table of terms into named losses."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmengine.dist import get_rank, get_world_size
from torch import Tensor, nn

from mixcl.algorithms.checks import check_features, check_keep, check_koleo, check_masks, check_widths
from mixcl.algorithms.derived import neck_of, projector_of, with_widths
from mixcl.algorithms.learner import Learner
from mixcl.algorithms.patches import PatchLevel, check_patch_level, check_settings
from mixcl.algorithms.streams import StreamRecipe
from mixcl.algorithms.table import Table, of_level
from mixcl.backbones.patch_size import plain_patch_size
from mixcl.backbones.position_grids import Grid
from mixcl.encoders.outputs import pooled_output
from mixcl.encoders.passes import backbone_features, project
from mixcl.encoders.stream import Level, RowsOf, Stream
from mixcl.encoders.tokens import grid_of_image
from mixcl.errors import UserError
from mixcl.feature_statistics import feature_std
from mixcl.heads.sync_batch_norm import has_batch_norm
from mixcl.losses import Objective
from mixcl.losses.koleo import koleo
from mixcl.mixers.trial import parts_of
from mixcl.randomness import StepKey, generator
from mixcl.registry import LOSSES, MIXERS, MODELS, TARGET_ENCODERS

Streams = dict[str, Stream]


@MODELS.register_module()
class ContrastiveLearner(Learner):
    """Contrastive pretraining as a table of terms.

    A step builds the streams that the terms name, encodes each needed query stream with the online encoder (backbone,
    neck, predictor) and each key stream with the target encoder, and pulls every query row towards each key row in
    proportion to how much of their source images the two share. A method is a configuration of this class; see
    ``configs/``.

    The weights of the online backbone are stored under ``backbone.``, as in mmpretrain's classifiers.

    Args:
        backbone: config of the backbone; its last output is used, (R, C) or (R, C, h, w).
        neck: config of the projector, (R, C) -> (R, D). Leave out its ``in_channels``, which is C, and wherever D is
            needed again (predictor, queues, DINO's prototypes, SwAV's channels) leave that out, too.
        predictor: config of the predictor of queries, (R, D) -> (R, D); None for no predictor.
        target: config of the target encoder, for example ``dict(type='EMA', momentum=0.996)``.
        objective: config of the objective, for example ``dict(type='InfoNCE', temperature=0.2)``.
        terms: rows ``(query stream, key stream, weight)`` or ``(..., dict of options)``.
        mixer: config of the mixer of all streams that have none of their own; None if there are none.
        streams: settings of streams by name. ``dict(mix1=dict(mix='view1'))`` adds a mixed stream, which may have a
            ``mixer``; ``mix=('view1', 'view2')`` mixes owners of one view with partners of another;
            ``dict(view1=dict(keep=0.5), mix1=dict(mix='view1', keep=0.5))`` shows the online encoder a random share of
            the patches; ``dict(view1=dict(mask=dict(share=(0.1, 0.5), probability=0.5)))`` masks blocks of patches;
            ``dict(view1=dict(koleo=0.1))`` adds a loss that spreads the view's features before the neck (DINOv2).
        views: number of crops by view name, in the order of the data pipeline. Default: view1 and view2.
        shared_plan: whether all streams of one mixer share its plan of a step; if not, each has its own.
        swap_views: probability that the first two views change places in a step.
        joint: groups of streams that share a forward pass and its batch-norm statistics, for example
            ``[('view1', 'mix1')]``; every other stream has its own.
        patches: settings of rows with ``level='patch'``: ``objective`` (default: a second one like that of images)
            and ``tokens``, the largest number of query patches per image (default: all). These rows use the same neck
            and predictor.
        memory: queues of keys by name, for example ``dict(queue=dict(size=65536, fed_by='view2'))``.
        data_preprocessor: config of the preprocessor; mmpretrain's ``SelfSupDataPreprocessor`` fits.

    Attributes:
        observers: functions called in every step with the features (R, C) and projections (R, D) of the online
            encoder, by stream; they must detach what they keep.

    Raises:
        UserError: if settings do not fit together.
    """

    def __init__(
        self,
        backbone: dict,
        neck: dict,
        target: dict,
        objective: dict,
        terms: Sequence[Sequence],
        predictor: dict | None = None,
        mixer: dict | None = None,
        streams: dict[str, dict] | None = None,
        views: dict[str, int] | None = None,
        shared_plan: bool = True,
        swap_views: float = 0.0,
        joint: Sequence[Sequence[str]] = (),
        patches: dict | None = None,
        memory: dict[str, dict] | None = None,
        data_preprocessor: dict | None = None,
    ) -> None:
        super().__init__(data_preprocessor)
        self.recipe = StreamRecipe(
            dict(view1=1, view2=1) if views is None else views,
            streams or {},
            None if mixer is None else MIXERS.build(mixer),
            shared_plan,
            swap_views,
            joint,
        )
        # All that mixers then do with pixels is to move them, and half of the bytes move faster.
        self.data_preprocessor.follows_autocast = all(mixer.keeps_place for mixer in self.recipe.mixers)
        neck = projector_of(neck, target)
        width = neck.get('out_channels')
        predictor, objective, patches, memory = with_widths(width, predictor, objective, patches, memory or {})
        self._build_table(terms, objective, patches, memory)
        check_widths(neck, predictor, self.table.objectives, self.table.queues)
        self._build_encoders(backbone, neck, predictor, target)
        self.observers: list[Callable[[dict[str, Tensor], dict[str, Tensor]], None]] = []
        self.step_key = StepKey(seed=0, step=0, rank=get_rank())

    def _build_table(self, terms: Sequence[Sequence], objective: dict, patches: dict | None, memory: dict) -> None:
        """Build the table of terms, and register the modules in it."""
        self.objective: Objective = LOSSES.build(objective)
        objectives: dict[Level, Objective] = dict(image=self.objective)
        if patches is not None:
            check_settings(patches)
            objectives['patch'] = LOSSES.build(patches.get('objective', objective))
        # A mixture of one of several crops has no counterpart in the mean of their keys.
        mixed_from = {name: each.views for name, each in self.recipe.mixtures.items() if self.recipe.crops(name) == 1}
        self.table = Table(terms, objectives, memory, self.recipe.names, mixed_from)
        self.memory = nn.ModuleDict(self.table.queues)
        mixers = itertools.chain(*map(parts_of, self.recipe.mixers))
        own_parts = [*mixers, *itertools.chain(*self.table.sources.values())]
        # Users' mixers and negatives may have weights or states; queues are in ``memory``.
        self.own_parts = nn.ModuleList(
            part for part in own_parts if isinstance(part, nn.Module) and part not in self.memory.values()
        )
        self.patches = None
        if patches is not None:
            self.patches = PatchLevel(self.table.terms, objectives['patch'], patches.get('tokens'))

    def _build_encoders(self, backbone: dict, neck: dict, predictor: dict | None, target: dict) -> None:
        """Build the online and the target encoder, and check that they fit the table."""
        self.backbone = MODELS.build(backbone)
        self.grids: dict[Grid, Grid] = {}
        self.patch_size: Any = getattr(self.backbone, 'patch_size', None)
        queries = {rows.stream for rows in self.table.queries}
        check_keep(self.recipe.keep, queries, self.backbone)
        check_masks(self.recipe.masks, queries, self.backbone)
        for mixer in self.recipe.mixers:
            mixer.follow(plain_patch_size(self.backbone))
        neck = neck_of(neck, self.backbone, backbone.get('in_channels', 3))
        self.neck_channels = neck.get('in_channels')
        self.neck = MODELS.build(neck)
        self.predictor = nn.Identity() if predictor is None else MODELS.build(predictor)
        self.target = TARGET_ENCODERS.build(target, default_args=dict(backbone=self.backbone, neck=self.neck))
        self.target.follow(self.data_preprocessor)
        self.online_rows = self.target.online_rows(self.table.queries, self.table.keys)
        check_koleo(self.recipe.koleo, self.online_rows)
        self.target_rows = self.target.passes(self.table.queries, self.table.keys)
        if self.patches is not None:
            heads = has_batch_norm(self.neck) or has_batch_norm(self.predictor)
            check_patch_level(self.patches, self.recipe, self.target, self.target_rows, heads)

    def init_weights(self) -> None:
        super().init_weights()
        self.target.copy_weights(self.backbone, self.neck)

    @property
    def stream_names(self) -> set[str]:
        """Names of the streams that a step needs."""
        return {rows.stream for rows in self.table.queries | self.table.keys}

    # ----- what the train loop calls -----

    def check_batch(self, crops: list[Tensor], batch_size: int, processes: int | None = None) -> None:
        processes = get_world_size() if processes is None else processes
        self.recipe.check(crops, batch_size, self.stream_names)
        super().check_batch(crops, batch_size, processes)
        if self.patches is not None:
            grid_of_image(self.backbone, (crops[0].shape[-2], crops[0].shape[-1]))
        self.target.check_batch(batch_size, processes)
        if self.recipe.koleo and batch_size < 2:
            raise UserError('koleo compares the images of a process: set a batch of two or more for each')
        for queue in self.table.queues.values():
            queue.check(processes * batch_size * self.recipe.crops(queue.fed_by))

    def begin_step(self, key: StepKey, epoch: int = 0) -> None:
        """Set the key of the step, which decides its random numbers, and its epoch, counted from 0."""
        self.step_key = key
        self.target.begin_step(key)
        for objective in self.table.objectives.values():
            objective.begin_step(epoch)

    def end_step(self, progress: float, epochs: int, taken: bool | Tensor = True) -> dict[str, float]:
        """Update the target encoder after an optimiser step, see :meth:`TargetEncoder.update`; return values to log."""
        return self.target.update(self.backbone, self.neck, progress, epochs, taken)

    # ----- one step -----

    def forward(
        self, inputs: Any, data_samples: list | None = None, mode: str = 'tensor'
    ) -> dict[str, Tensor] | Tensor:
        """Compute losses of a list of view batches (mode 'loss'), or features of one batch of images ('tensor')."""
        if mode == 'loss':
            return self.loss(inputs, data_samples)
        if mode == 'tensor':
            return self.extract_features(inputs)
        raise UserError(
            f'ContrastiveLearner has the modes loss and tensor, not {mode!r}; for its features use a FeatureLoop'
        )

    def loss(self, crops: list[Tensor], data_samples: list | None = None) -> dict[str, Tensor]:
        """Compute the named losses of one step, and the spread of the features, from view batches (B, 3, h, w) each."""
        queries, keys = self.rows(*self.build_streams(crops, data_samples))
        features, predictions, projections = self._encode(queries, keys)
        losses = self.table.losses(queries, keys, predictions, projections, self.step_key)
        self.table.remember(projections)
        losses |= self._spread(features)
        return losses | dict(feature_std=feature_std(features[self.table.first.rows[0]]))

    def _spread(self, features: dict[RowsOf, Tensor]) -> dict[str, Tensor]:
        """Return the weighted KoLeo losses: per view the sum over its crops, as two crops of an image may be alike."""
        losses = {}
        for name, weight in self.recipe.koleo.items():
            crops = features[RowsOf(name)].chunk(self.recipe.crops(name))
            losses[f'loss_koleo_{name}'] = weight * torch.stack([koleo(crop) for crop in crops]).sum()
        return losses

    def build_streams(self, crops: list[Tensor], data_samples: list | None = None) -> tuple[Streams, Streams]:
        """Build the streams that the terms need, as the online encoder sees them, and with nothing hidden."""
        whole = self.recipe.build(crops, self.stream_names, self.step_key)
        return self.recipe.hidden(whole, self.patch_size, self.step_key), whole

    def rows(self, online: Streams, whole: Streams) -> tuple[dict[RowsOf, Stream], dict[RowsOf, Stream]]:
        """Choose the rows of streams that are encoded online, and those that are keys."""
        seen = {each.rows: each for each in online.values()}
        keys = {each.rows: each for each in whole.values()}
        if self.patches is not None:
            random = generator(self.step_key.seed, self.step_key.step, 'patches')  # the same places in all processes
            patch_queries, patch_keys = self.patches.choose(online, whole, self._grid_of, random)
            seen, keys = seen | patch_keys | patch_queries, keys | patch_keys
        # A key that reuses a query's projection has seen only what the query has.
        keys = {name: (keys if name in self.target_rows else seen)[name] for name in keys if name in self.table.keys}
        return {name: each for name, each in seen.items() if name in self.online_rows}, keys

    def _grid_of(self, stream: Stream) -> Grid:
        """Return the (rows, columns) of the tokens of a stream's images, which a backbone is asked for once a size."""
        height, width = stream.images.shape[-2:]
        if (height, width) not in self.grids:
            plain = plain_patch_size(self.backbone)
            found = stream.grid(plain) if plain else grid_of_image(self.backbone, (height, width))
            self.grids[height, width] = found
        return self.grids[height, width]

    def _encode(
        self, queries: dict[RowsOf, Stream], keys: dict[RowsOf, Stream]
    ) -> tuple[dict[RowsOf, Tensor], dict[RowsOf, Tensor], dict[RowsOf, Tensor]]:
        """Return the features of what is encoded online, the predictions of queries, and the projections of keys."""
        features = backbone_features(self.backbone, queries)
        check_features(features, self.neck_channels, self.backbone)
        projections = project(self.neck, features, queries)
        level = self.table.first.level
        for observer in self.observers:
            observer(of_level(level, features), of_level(level, projections))
        of_keys = self.target.keys(keys, projections, self.backbone, self.neck)
        of_queries = {name: projections[name] for name in projections if name in self.table.queries}
        return features, project(self.predictor, of_queries, queries), of_keys

    # ----- evaluation and reports -----

    @property
    def encoder_names(self) -> tuple[str, ...]:
        """Names of the encoders that can be evaluated: 'online', and 'target' if it has weights of its own."""
        return ('online', 'target') if self.target.own_weights else ('online',)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """Return (B, C) backbone features of normalised images (B, 3, H, W), before the head, maps averaged over space.

        Raises:
            UserError: for an encoder that this model does not have.
        """
        if encoder not in self.encoder_names:
            raise UserError(f'this model has no {encoder!r} encoder; it has {", ".join(self.encoder_names)}')
        backbone = self.backbone if encoder == 'online' else self.target.backbone
        return pooled_output(backbone(images), backbone)

    def passes_per_image(self) -> tuple[int, int]:
        """Count the encoder passes per loaded image in a step, with and without gradient."""
        return self._count_crops(self.online_rows), self._count_crops(self.target_rows)

    def _count_crops(self, rows: set[RowsOf]) -> int:
        return sum(map(self.recipe.crops, {each.stream for each in rows}))
