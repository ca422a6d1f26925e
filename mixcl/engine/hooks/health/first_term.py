"""Readings of a step's first term that show the state of a run: chance level, positives against negatives."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mixcl.composition import SoftTarget
from mixcl.feature_statistics import effective_rank, uniformity
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives, Objective, SwAV

ROWS = 512


def chance_level(
    objective: Objective,
    queries: Tensor,
    keys: Tensor,
    target: SoftTarget,
    negatives: Sequence[Negatives] = (),
    **options: Any,
) -> Tensor | None:
    """Return the mean loss of an encoder that cannot tell any two images apart; None if the objective has none.

    For InfoNCE it is the loss of constant vectors, ln N times its scale; for DINO and SwAV, the entropy of uniform
    scores.
    """
    if isinstance(objective, (DINODistillation, SwAV)):
        return queries.new_tensor(math.log(keys.shape[1]))
    if not isinstance(objective, InfoNCE):
        return None
    constant = [Negatives(_constant(vectors), keep) for vectors, keep in negatives]
    rows = objective.forward(_constant(queries), _constant(keys), target, constant, **options)
    return target.mean(rows)


def _constant(vectors: Tensor) -> Tensor:
    return torch.full_like(vectors, vectors.shape[-1] ** -0.5)


@torch.no_grad()
def readings(
    objective: Objective,
    features: Tensor,
    embeddings: Tensor,
    rows: Tensor,
    queries: Tensor,
    keys: Tensor,
    target: SoftTarget,
    negatives: Sequence[Negatives] = (),
    **options: Any,
) -> dict[str, Tensor]:
    """Return scalars for the log, each only if the objective has it.

    - ``chance_level`` and ``chance_ratio``, the loss divided by it;
    - for objectives that compare unit vectors: ``similarity_gap``; ``alignment``, the mean squared distance of a
      query to its keys, weighted by the target; ``query_uniformity`` and ``key_uniformity`` of at most 512 rows;
    - ``effective_rank`` of the features (at most 512 rows), near 1 when they collapse;
    - ``rankme``, the same of the embeddings (https://arxiv.org/abs/2210.02885, section 3.1), which DINO's head lacks.

    Args:
        features, embeddings: (N, C) and (M, D) of the first stream, before and after the projector.
        rows: (R,) losses that the objective returned.
        queries, keys, target, negatives, options: inputs of the objective; (R, D) and (n, D), prepared and gathered.
    """
    scalars = dict(effective_rank=effective_rank(features[:ROWS]))
    if not isinstance(objective, DINODistillation):
        scalars['rankme'] = effective_rank(embeddings)
    chance = chance_level(objective, queries, keys, target, negatives, **options)
    if chance is not None:
        scalars |= dict(chance_level=chance, chance_ratio=target.mean(rows) / chance)
    if isinstance(objective, (InfoNCE, NegativeCosine)):
        cosines = queries @ keys.T
        positive = target.mean(target.pick(cosines))
        others = ~target.support(len(keys)) & target.valid[:, None]
        scalars |= dict(
            similarity_gap=positive - (cosines * others).sum() / others.sum().clamp_min(1),
            alignment=2 - 2 * positive,  # the squared distance of unit vectors; shares sum to 1
            query_uniformity=uniformity(queries[:ROWS]),
            key_uniformity=uniformity(keys[:ROWS]),
        )
    return scalars
