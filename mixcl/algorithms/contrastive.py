"""The engine: turns streams and a table of terms into named losses."""

from collections.abc import Callable, Sequence
from typing import Any

from mmengine.dist import get_rank, get_world_size
from torch import Tensor, nn

from mixcl.algorithms.checks import (
    build_memory,
    check_features,
    check_joint,
    check_keep,
    check_losses,
    check_masks,
    check_names,
    check_queues,
    check_widths,
)
from mixcl.algorithms.derived import neck_of, with_widths
from mixcl.algorithms.learner import Learner
from mixcl.algorithms.patches import Patches, PatchLevel, by_rows, check_patch_level, check_settings
from mixcl.algorithms.streams import StepKey, Stream, StreamRecipe
from mixcl.algorithms.terms import Term, parse_terms
from mixcl.backbones.patch_size import plain_patch_size
from mixcl.composition import Composition
from mixcl.distributed import gather_rows
from mixcl.encoders.passes import Inputs, backbone_features, level_of, project, stream_of
from mixcl.errors import UserError
from mixcl.feature_statistics import feature_std
from mixcl.heads.sync_batch_norm import has_batch_norm
from mixcl.losses import NegativesContext, NegativesSource, Objective, Rows
from mixcl.losses.info_nce import normalised
from mixcl.mixers.trial import parts_of
from mixcl.randomness import generator
from mixcl.registry import LOSSES, MIXERS, MODELS, NEGATIVES, TARGET_ENCODERS


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
        mixer: config of the mixer; None if nothing is mixed.
        streams: settings of streams by name. ``dict(mix1=dict(mix='view1'))`` adds a mixed stream;
            ``dict(view1=dict(keep=0.5), mix1=dict(mix='view1', keep=0.5))`` shows the online encoder a random share of
            the patches; ``dict(view1=dict(mask=dict(share=(0.1, 0.5), probability=0.5)))`` masks blocks of patches.
        views: number of crops by view name, in the order of the data pipeline. Default: view1 and view2.
        shared_plan: whether all mixed streams of a step share the mixer's plan; if not, each has its own.
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
        )
        # All that mixers then do with pixels is to move them, and half of the bytes move faster.
        self.data_preprocessor.follows_autocast = self.recipe.mixer is None or self.recipe.mixer.keeps_place
        width = neck.get('out_channels')
        predictor, objective, patches, memory = with_widths(width, predictor, objective, patches, memory or {})
        self._read_table(terms, objective, patches, memory)
        check_joint(joint, self.recipe.names)
        check_widths(neck, predictor, self.objectives, self.queues)
        self.joint = joint
        self._build_encoders(backbone, neck, predictor, target)
        self.observers: list[Callable[[dict[str, Tensor], dict[str, Tensor]], None]] = []
        self.step_key = StepKey(seed=0, step=0, rank=get_rank())

    def _read_table(self, terms: Sequence[Sequence], objective: dict, patches: dict | None, memory: dict) -> None:
        """Read the rows of the table; build their objectives and negatives."""
        self.objective: Objective = LOSSES.build(objective)
        self.objectives = dict(image=self.objective)
        if patches is not None:
            check_settings(patches)
            self.objectives['patch'] = LOSSES.build(patches.get('objective', objective))
        self.terms = parse_terms(terms, self.recipe.names, self.objectives)
        self.queues = build_memory(memory, self.recipe.names)
        self.memory = nn.ModuleDict(self.queues)
        self.sources = {term.name: self._sources(term) for term in self.terms}
        own_parts = [*parts_of(self.recipe.mixer), *(one for sources in self.sources.values() for one in sources)]
        # Users' mixers and negatives may have weights or states; queues are in ``memory``.
        self.own_parts = nn.ModuleList(
            part for part in own_parts if isinstance(part, nn.Module) and part not in self.memory.values()
        )
        check_queues(self.queues, self.sources, self.objective)
        self.patches = None
        if patches is not None:
            self.patches = PatchLevel(self.terms, self.objectives['patch'], patches.get('tokens'))
        self.query_names = {term.rows[0] for term in self.terms}
        self.key_names = self._key_names()

    def _build_encoders(self, backbone: dict, neck: dict, predictor: dict | None, target: dict) -> None:
        """Build the online and the target encoder, and check that they fit the table."""
        self.backbone = MODELS.build(backbone)
        check_keep(self.recipe.keep, self.query_names, self.backbone)
        check_masks(self.recipe.masks, {term.query for term in self.terms}, self.backbone)
        if self.recipe.mixer is not None:
            self.recipe.mixer.follow(plain_patch_size(self.backbone))
        neck = neck_of(neck, self.backbone, backbone.get('in_channels', 3))
        self.neck_channels = neck.get('in_channels')
        self.neck = MODELS.build(neck)
        self.predictor = nn.Identity() if predictor is None else MODELS.build(predictor)
        self.target = TARGET_ENCODERS.build(target, default_args=dict(backbone=self.backbone, neck=self.neck))
        if self.patches is not None:
            encoded = self.target.passes(self.query_names, self.key_names)
            heads = has_batch_norm(self.neck) or has_batch_norm(self.predictor)
            check_patch_level(self.patches, self.recipe, self.backbone, self.target, encoded, heads)

    def _sources(self, term: Term) -> list[NegativesSource]:
        """Return the negatives of a row: queues, rows of streams, or sources built from configs."""
        sources: list[NegativesSource] = []
        for item in term.negatives:
            name = term.query if item == 'own' else item
            if isinstance(name, dict):
                sources.append(NEGATIVES.build(name))
            elif name in self.queues:
                sources.append(self.queues[name])
            elif name in self.recipe.names:
                sources.append(Rows(name))
            else:
                known = ', '.join(['own', *self.queues, *self.recipe.names])
                raise UserError(f'negatives of {term.name} name {name!r}, but there are {known}')
        return sources

    def _key_names(self) -> set[str]:
        names = {stream for sources in self.sources.values() for source in sources for stream in source.streams}
        names |= {queue.fed_by for queue in self.queues.values()}
        names |= set(getattr(self.objective, 'centred_by', ()))
        check_names('model.objective', names, self.recipe.names)
        return names | {term.rows[1] for term in self.terms}

    def init_weights(self) -> None:
        super().init_weights()
        self.target.copy_weights(self.backbone, self.neck)

    @property
    def stream_names(self) -> set[str]:
        """Names of the streams that a step needs."""
        return set(map(stream_of, self.query_names | self.key_names))

    # ----- what the train loop calls -----

    def check_batch(self, crops: list[Tensor], batch_size: int, processes: int | None = None) -> None:
        processes = get_world_size() if processes is None else processes
        self.recipe.check(crops, batch_size, self.stream_names)
        super().check_batch(crops, batch_size, processes)
        self.target.check_batch(batch_size, processes)
        for queue in self.queues.values():
            queue.check(processes * batch_size * self.recipe.crops(queue.fed_by))

    def begin_step(self, key: StepKey, epoch: int = 0) -> None:
        """Set the key of the step, which decides its random numbers, and its epoch, counted from 0."""
        self.step_key = key
        for objective in self.objectives.values():
            objective.begin_epoch(epoch)

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

    def build_streams(self, crops: list[Tensor], data_samples: list | None = None) -> dict[str, Stream]:
        """Build the streams that the terms need, from view batches (B, 3, h, w) each."""
        streams = self.recipe.build(crops, self.stream_names, self.step_key)
        for name, keep in self.recipe.keep.items():
            random = generator(*self.step_key, name, 'keep')
            streams[name] = streams[name].with_dropped(keep, self.backbone.patch_size, random)
        for name, masks in self.recipe.masks.items():
            random = generator(*self.step_key, name, 'mask')
            streams[name] = streams[name].with_masked(masks, self.backbone.patch_size, random)
        return streams

    def loss(self, crops: list[Tensor], data_samples: list | None = None) -> dict[str, Tensor]:
        """Compute the named losses of one step, and the spread of the features, from view batches (B, 3, h, w) each."""
        streams = self.build_streams(crops, data_samples)
        seen = {name: stream.as_query for name, stream in streams.items()}
        query_patches, key_patches = self._choose_patches(streams)
        online = self._inputs(seen, key_patches | query_patches)
        online = online.only(self.target.online_streams(self.query_names, self.key_names))
        features = backbone_features(self.backbone, online)
        check_features(features, self.neck_channels, self.backbone)
        projections = project(self.neck, features, online)
        for observer in self.observers:
            observer(features, projections)
        whole = self._inputs(streams, key_patches).only(self.key_names)
        raw_keys = self.target.keys(whole, projections, self.backbone, self.neck)

        query_projections = {name: z for name, z in projections.items() if name in self.query_names}
        predictions = project(self.predictor, query_projections, online)
        queries = {name: self._objective(name).prepare_query(rows) for name, rows in predictions.items()}
        keys = self._prepare_keys(raw_keys)
        # A key that reuses a query's projection has seen only what the query has.
        encoded = self.target.passes(self.query_names, self.key_names)
        of_keys = {name: (streams if name in encoded else seen)[name].composition for name in keys if name in streams}
        of_queries = {name: seen[name].composition for name in queries if name in seen}
        of_queries |= by_rows(query_patches)
        of_keys |= by_rows(key_patches)
        outputs = self._term_losses(of_queries, of_keys, queries, keys, query_patches)
        first = min(self.terms, key=lambda term: term.level)  # one of images, if any
        outputs['feature_std'] = feature_std(features[first.rows[0]])
        self._remember(raw_keys)
        return outputs

    def _term_losses(
        self,
        of_queries: dict[str, Composition],
        of_keys: dict[str, Composition],
        queries: dict[str, Tensor],
        keys: dict[str, Tensor],
        query_patches: dict[str, Patches],
    ) -> dict[str, Tensor]:
        starts = {name: self._objective(name).key_start(len(composition)) for name, composition in of_keys.items()}
        losses = {}
        for term in self.terms:
            query, key = term.rows
            target = term.soft_target(of_queries[query], of_keys[key], starts[key])
            context = NegativesContext(
                queries=queries[query],
                composition=of_queries[query],
                keys=keys[key],
                target=target,
                prepared=keys,
                compositions=of_keys,
                starts=starts,
                generator=generator(*self.step_key, term.name),
            )
            negatives = [source(context) for source in self.sources[term.name]]
            rows = self._objective(query)(context.queries, context.keys, target, negatives, **term.options)
            check_losses(rows, len(context.queries), self._objective(query), term.name)
            mean = query_patches[term.query].mean if term.level == 'patch' else target.mean
            losses[term.name] = term.weight * mean(rows)
        return losses

    def _choose_patches(self, streams: dict[str, Stream]) -> tuple[dict[str, Patches], dict[str, Patches]]:
        """Choose the patches that are queries, and those that are keys, by stream."""
        if self.patches is None:
            return {}, {}
        random = generator(self.step_key.seed, self.step_key.step, 'patches')  # the same places in all processes
        return self.patches.choose(streams, self.backbone.patch_size, random)

    def _objective(self, rows: str) -> Objective:
        """Return the objective that compares these rows: that of images or that of patches."""
        return self.objectives[level_of(rows)]

    def _prepare_keys(self, raw: dict[str, Tensor]) -> dict[str, Tensor]:
        earlier = {queue.fed_by: queue.vectors for queue in self.queues.values()}
        keys: dict[str, Tensor] = {}
        for level, objective in self.objectives.items():
            keys |= objective.prepare_keys({name: raw[name] for name in raw if level_of(name) == level}, earlier)
        return keys

    def _remember(self, raw_keys: dict[str, Tensor]) -> None:
        for queue in self.queues.values():
            queue.push(gather_rows(normalised(raw_keys[queue.fed_by].detach())))
        for level, objective in self.objectives.items():
            objective.observe({stream_of(name): rows for name, rows in raw_keys.items() if level_of(name) == level})

    def _inputs(self, streams: dict[str, Stream], patches: dict[str, Patches]) -> Inputs:
        # The order of the recipe is the same in all processes.
        ordered = {name: streams[name] for name in self.recipe.names if name in streams}
        return Inputs(
            images={name: stream.images for name, stream in ordered.items()},
            tokens={name: stream.tokens for name, stream in ordered.items() if stream.tokens is not None},
            masks={
                name: stream.mask.to(stream.images.device, non_blocking=True)
                for name, stream in ordered.items()
                if stream.mask is not None
            },
            patches={name: patches[name].cells for name in ordered if name in patches},
            joint=self.joint,
            key=(self.step_key.seed, self.step_key.step),
        )

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
        return backbone_features(backbone, Inputs(dict(images=images)))['images']

    def passes_per_image(self) -> tuple[int, int]:
        """Count the encoder passes per loaded image in a step, with and without gradient."""
        with_gradient = self.target.online_streams(self.query_names, self.key_names)
        without = self.target.passes(self.query_names, self.key_names)
        return self._count_crops(with_gradient), self._count_crops(without)

    def _count_crops(self, rows: set[str]) -> int:
        return sum(map(self.recipe.crops, set(map(stream_of, rows))))
