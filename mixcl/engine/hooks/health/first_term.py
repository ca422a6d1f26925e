"""What the first term of a step says about the state of a run: chance level, how positives differ from negatives."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mixcl.composition import SoftTarget
from mixcl.evaluation.functional.quality import effective_rank, uniformity
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives, Objective

ROWS = 512
EMBEDDINGS = 1024


def chance_level(
    objective: Objective,
    queries: Tensor,
    keys: Tensor,
    target: SoftTarget,
    negatives: Sequence[Negatives] = (),
    **options: Any,
) -> Tensor | None:
    """The mean loss of an encoder that cannot tell any two images apart, or None where the objective has no such.

    Of InfoNCE it is the loss of constant vectors, ln N times its scale; of DINO the entropy of uniform scores.
    """
    if isinstance(objective, DINODistillation):
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
    """Scalars for the log, each only where the objective has it.

    - ``chance_level`` and ``chance_ratio``, the loss divided by it;
    - of objectives that compare unit vectors ``similarity_gap``; ``alignment``, the mean squared distance of a
      query to its keys, weighted by the target; ``query_uniformity`` and ``key_uniformity`` of at most 512 rows;
    - ``effective_rank`` of the features (at most 512), near 1 when they collapse;
    - ``rankme``, the same of the embeddings (https://arxiv.org/abs/2210.02885, section 3.1), which DINO's head lacks.

    Args:
        features, embeddings: (N, C) and (M, D) of the first stream, before and behind the projector.
        rows: (R,) losses that the objective gave.
        queries, keys, target, negatives, options: what it was asked; (R, D) and (n, D), prepared and gathered.
    """
    found = dict(effective_rank=effective_rank(features[:ROWS]))
    if not isinstance(objective, DINODistillation):
        found['rankme'] = effective_rank(embeddings)
    chance = chance_level(objective, queries, keys, target, negatives, **options)
    if chance is not None:
        found |= dict(chance_level=chance, chance_ratio=target.mean(rows) / chance)
    if isinstance(objective, (InfoNCE, NegativeCosine)):
        cosines = queries @ keys.T
        positive = target.mean(target.pick(cosines))
        others = ~target.support(len(keys)) & target.valid[:, None]
        found |= dict(
            similarity_gap=positive - (cosines * others).sum() / others.sum().clamp_min(1),
            alignment=2 - 2 * positive,  # the squared distance of unit vectors, and shares sum to 1
            query_uniformity=uniformity(queries[:ROWS]),
            key_uniformity=uniformity(keys[:ROWS]),
        )
    return found


class FirstTermListener:
    """Listens to the first term of a step, when it is asked to, and to the embeddings of the steps since it last was.

    Of these it keeps about 1,024 rows, so that a small batch does not bound their rank. To a model that is no
    contrastive learner it does not listen.

    Attributes:
        heard: gives the :func:`readings` of the term, after a step that was listened to.
    """

    def __init__(self, model: nn.Module) -> None:
        self.heard: Callable[[], dict[str, Tensor]] = dict
        self._features: Tensor | None = None
        self._embeddings: deque[Tensor] = deque()
        self._listening = False
        if isinstance(getattr(model, 'objective', None), Objective):
            model.objective.register_forward_hook(self._hear, with_kwargs=True)
            model.observers.append(self._observe)

    def listen(self) -> None:
        """Listen to the next step."""
        self.heard, self._features, self._listening = dict, None, True

    def _observe(self, features: dict[str, Tensor], projections: dict[str, Tensor]) -> None:
        first = next(iter(features))
        self._embeddings.append(projections[first].detach()[:EMBEDDINGS])
        while sum(map(len, self._embeddings)) - len(self._embeddings[0]) >= EMBEDDINGS:
            self._embeddings.popleft()
        if self._listening:
            self._features = features[first].detach()

    def _hear(self, objective: Objective, inputs: tuple, options: dict, rows: Tensor) -> None:
        if self._listening and self._features is not None:
            self._listening = False
            queries, keys, *others = inputs
            seen = self._features, torch.cat(list(self._embeddings))[-EMBEDDINGS:]
            self._embeddings.clear()
            vectors = rows.detach(), queries.detach(), keys.detach()
            self.heard = partial(readings, objective, *seen, *vectors, *others, **options)
