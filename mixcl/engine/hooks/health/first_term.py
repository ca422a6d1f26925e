"""What the first term of a step says about the state of a run: chance level, how positives differ from negatives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mixcl.composition import SoftTarget
from mixcl.evaluation.functional.quality import effective_rank, uniformity
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives, Objective

ROWS = 512


def chance_level(
    objective: Objective,
    queries: Tensor,
    keys: Tensor,
    target: SoftTarget,
    negatives: Sequence[Negatives],
    **options: Any,
) -> Tensor | None:
    """The mean loss of an encoder that cannot tell any two images apart, or None where the objective has no such.

    Of InfoNCE it is found by asking the objective about constant vectors, which for contrasting all of N candidates
    without smoothing is ln N times its scale; of DINO it is the entropy of the uniform distribution.
    """
    if isinstance(objective, DINODistillation):
        return queries.new_tensor(math.log(keys.shape[1]))
    if not isinstance(objective, InfoNCE):
        return None
    constant = [Negatives(_constant(vectors), keep) for vectors, keep in negatives]
    rows = objective.forward(_constant(queries), _constant(keys), target, constant, **options)
    return target.mean(rows)


def _constant(vectors: Tensor) -> Tensor:
    constant = torch.zeros_like(vectors)
    constant[..., 0] = 1
    return constant


@dataclass(frozen=True)
class FirstTerm:
    """What the objective was asked for the first term of a step, and said, without gradients.

    Attributes:
        objective: of the model.
        features: (N, C) of the first streams that went through the projector.
        queries: (R, D), prepared by the objective.
        keys: (n, D), prepared and gathered.
        target: of the queries over the keys.
        negatives: extra columns.
        options: of the term.
        rows: (R,) losses.
    """

    objective: Objective
    features: Tensor
    queries: Tensor
    keys: Tensor
    target: SoftTarget
    negatives: list[Negatives]
    options: dict
    rows: Tensor

    @torch.no_grad()
    def readings(self) -> dict[str, Tensor]:
        """Scalars for the log, each only where the objective has it.

        - ``chance_level`` and ``chance_ratio``, the loss divided by it;
        - of objectives that compare unit vectors ``similarity_gap``; ``alignment``, the mean squared distance of a
          query to its keys, weighted by the target; ``query_uniformity`` and ``key_uniformity``, see
          :func:`~mixcl.evaluation.functional.quality.uniformity`, 0 when they collapse to a point;
        - ``effective_rank`` of the features, see :func:`~mixcl.evaluation.functional.quality.effective_rank`, near 1
          when they collapse. Rank and uniformity use at most the first 512 rows.
        """
        objective, inputs = self.objective, (self.queries, self.keys, self.target)
        readings = dict(effective_rank=effective_rank(self.features[:ROWS]))
        chance = chance_level(objective, *inputs, self.negatives, **self.options)
        if chance is not None:
            readings |= dict(chance_level=chance, chance_ratio=self.target.mean(self.rows) / chance)
        if isinstance(objective, (InfoNCE, NegativeCosine)):
            cosines, target = self.queries @ self.keys.T, self.target
            positive = target.mean(target.pick(cosines))
            others = ~target.support(len(self.keys)) & target.valid[:, None]
            readings |= dict(
                similarity_gap=positive - (cosines * others).sum() / others.sum().clamp_min(1),
                alignment=2 - 2 * positive,  # the squared distance of unit vectors, and shares sum to 1
                query_uniformity=uniformity(self.queries[:ROWS]),
                key_uniformity=uniformity(self.keys[:ROWS]),
            )
        return readings


class FirstTermListener:
    """Listens to the first term of a step, when it is asked to.

    Args:
        model: may have no objective; then nothing is heard.

    Attributes:
        heard: the term, after a step that was listened to.
    """

    def __init__(self, model: nn.Module) -> None:
        self.heard: FirstTerm | None = None
        self._features: list[Tensor] = []
        self._listening = False
        if isinstance(getattr(model, 'objective', None), Objective):
            model.objective.register_forward_hook(self._hear, with_kwargs=True)
            model.neck.register_forward_pre_hook(self._hear_features)

    def listen(self) -> None:
        """Listen to the next step."""
        self.heard, self._features, self._listening = None, [], True

    def _hear_features(self, neck: nn.Module, inputs: tuple[Tensor]) -> None:
        if self._listening and not self._features:
            self._features = [inputs[0].detach()]

    def _hear(self, objective: Objective, inputs: tuple, options: dict, rows: Tensor) -> None:
        if not self._listening:
            return
        self._listening = False
        queries, keys, target = inputs[:3]
        negatives = [Negatives(*part) for part in (inputs[3] if len(inputs) > 3 else ())]
        self.heard = FirstTerm(
            objective, self._features[0], queries.detach(), keys.detach(), target, negatives, options, rows.detach()
        )
