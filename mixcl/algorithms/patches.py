"""Terms between patches: which patches of a step are compared, and by which objective."""

from collections.abc import Callable, Collection, Mapping, Sequence

import torch
from torch import Tensor, nn

from mixcl.algorithms.streams import StreamRecipe
from mixcl.algorithms.terms import Term
from mixcl.backbones.position_grids import Grid
from mixcl.encoders.shuffled_ema import ShuffledEMA
from mixcl.encoders.stream import RowsOf, Stream
from mixcl.encoders.targets import TargetEncoder
from mixcl.errors import UserError
from mixcl.losses import DINODistillation, InfoNCE, Objective
from mixcl.ranges import COUNT, check_range

GridOf = Callable[[Stream], Grid]


class PatchLevel(nn.Module):
    """The rows of the table of terms with ``level='patch'``.

    A query is the online encoder's token at a place of a masked view or of a mixture; its keys are the target encoder's
    tokens of what the place shows, at the same place of the whole view (iBOT, 2022, Eq. 2, and the same for mixtures).
    A place is a patch of a vision transformer, or a cell of another backbone's last map.
    The queries of a masked view are its masked patches, those of a mixture all its patches.

    Args:
        terms: the table; its other rows are left out.
        objective: objective between patches; DINO's is centred by those of its streams whose patches are keys, or else
            by all keys.
        tokens: largest number of query patches per image, drawn once a step for all images and processes; None for
            all.

    Raises:
        UserError: if ``tokens`` is not a positive integer, or no row is between patches.
    """

    def __init__(self, terms: Sequence[Term], objective: Objective, tokens: int | None) -> None:
        super().__init__()
        if tokens is not None:
            check_range('model.patches', COUNT, tokens=tokens)
        self.terms = [term for term in terms if term.level == 'patch']
        if not self.terms:
            raise UserError("model.patches is set, but no row of model.terms has level='patch'; leave it out")
        if isinstance(objective, DINODistillation):
            keys = {term.key for term in self.terms}
            objective.centred_by = tuple(name for name in objective.centred_by if name in keys) or tuple(sorted(keys))
        self.objective = objective
        self.tokens = tokens

    def choose(
        self, online: Mapping[str, Stream], whole: Mapping[str, Stream], grid_of: GridOf, random: torch.Generator
    ) -> tuple[dict[RowsOf, Stream], dict[RowsOf, Stream]]:
        """Choose the patches that are queries, and those that are keys.

        Args:
            online: the streams as the online encoder sees them.
            whole: the streams without anything hidden.
            grid_of: function from a stream to the (rows, columns) of the backbone's tokens of its images.
            random: generator of the same state in all processes.
        """
        queries: dict[str, Tensor] = {}
        keys: dict[str, Tensor] = {}
        for term in self.terms:
            if term.query not in queries:
                queries[term.query] = self._query_cells(online[term.query], grid_of(online[term.query]), random)
            cells = queries[term.query]
            # A place of a mixture may show that place of any image; there may be fewer mixtures than images.
            images = len(whole[term.key].images)
            places = cells if term.key == term.query else cells.any(dim=0).expand(images, -1)
            keys[term.key] = keys.get(term.key, torch.zeros_like(places)) | places
        of_queries = [online[name].of_patches(cells, grid_of(online[name])) for name, cells in queries.items()]
        of_keys = [whole[name].of_patches(cells, grid_of(whole[name])) for name, cells in keys.items()]
        return {each.rows: each for each in of_queries}, {each.rows: each for each in of_keys}

    def _query_cells(self, stream: Stream, grid: Grid, random: torch.Generator) -> Tensor:
        """Choose the query patches of each image: (B, cells) bool, on the CPU."""
        height, width = grid
        if stream.mask is None:
            allowed = torch.ones(len(stream.images), height * width, dtype=torch.bool)
        else:
            allowed = stream.mask.flatten(1)
        if self.tokens is None:
            return allowed
        order = torch.rand(height * width, generator=random).argsort()
        drawn = torch.zeros_like(allowed)
        drawn[:, order] = allowed[:, order] & (allowed[:, order].cumsum(dim=1) <= self.tokens)
        return drawn


def check_settings(patches: Mapping) -> None:
    """Raise UserError for a setting that ``model.patches`` does not have."""
    if not isinstance(patches, Mapping) or patches.keys() - {'objective', 'tokens'}:
        raise UserError(f'model.patches={patches!r} is not understood; it is a dict of objective and tokens, or empty')


def check_patch_level(
    level: PatchLevel,
    recipe: StreamRecipe,
    target: TargetEncoder,
    encoded: Collection[RowsOf],
    batch_norm: bool,
) -> None:
    """Raise UserError if patches cannot be compared with these settings.

    Args:
        level: the rows and their objective.
        recipe: recipe of the streams.
        target: the target encoder.
        encoded: the key rows that have a forward pass of their own.
        batch_norm: whether the heads have batch normalisation.
    """
    if isinstance(target, ShuffledEMA):
        raise UserError(
            "rows with level='patch' compare tokens, which ShuffledEMA does not give; use EMA as model.target"
        )
    for term in level.terms:
        _check_row(f"model.terms: ({term.query}, {term.key}) with level='patch'", term, recipe, target, encoded)
    name = type(level.objective).__name__
    if any(term.query in recipe.masks for term in level.terms) and (batch_norm or level.objective.gather):
        raise UserError(
            'masked patches differ in number from step to step and from process to process, but '
            + ('the heads normalise over them; use DINOHead or PlainHead as model.neck, and no predictor with batch '
               'normalisation' if batch_norm else f'{name} gathers the keys of all processes; set gather=False in '
               'model.patches.objective, or use DINODistillation or NegativeCosine')
        )  # fmt: skip
    if isinstance(level.objective, InfoNCE) and level.tokens is None:
        raise UserError(
            f'model.patches: {name} compares every patch with every other of the batch; set tokens, the number of '
            'patches of an image that take part, for example tokens=16'
        )


def _check_row(
    place: str, term: Term, recipe: StreamRecipe, target: TargetEncoder, encoded: Collection[RowsOf]
) -> None:
    view, *others = recipe.source(term.query)
    if others:
        raise UserError(f'{place}: places correspond within one view, but {term.query} mixes two; mix one')
    if view != term.key:
        raise UserError(f'{place}: places correspond within one view; {term.query} shows {view}, pull it to {view}')
    if recipe.crops(view) != 1:
        raise UserError(f'{place}: places correspond within one crop, but {view} has {recipe.crops(view)} of an image')
    if term.query in recipe.keep:
        raise UserError(f'{place}: {term.query} has keep, and a dropped patch has no token; use mask, or leave it out')
    mixture = recipe.mixtures.get(term.query)
    if mixture is not None and not mixture.mixer.keeps_place:
        raise UserError(
            f'{place}: the parts of a {type(mixture.mixer).__name__} mixture move or blend, so that a place shows no '
            'patch of an image; use PatchMix, CutMix, RegionSwap or MixMask'
        )
    if term.query == term.key and term.query not in recipe.masks and not target.is_another_network:
        raise UserError(
            f'{place}: every patch would be compared with itself; mask some, model.streams.{view}=dict(mask=dict(...))'
        )
    if view in recipe.keep.keys() | recipe.masks.keys() and term.rows[1] not in encoded:
        raise UserError(
            f'{place}: the target encoder has to see the whole {view}, but model.target encodes a stream that is query '
            'and key once; use EMA'
        )
    if term.target != 'overlap':
        raise UserError(f"{place}: rows between patches always have target='overlap'; leave out target={term.target!r}")
    if term.negatives:
        raise UserError(f'{place}: rows between patches take no negatives; set patches=dict(objective=...) without any')
