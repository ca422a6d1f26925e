"""What an objective's inputs say about the state of a run: chance level, and how positives differ from negatives."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mixcl.composition import SoftTarget
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives, Objective


def chance_level(
    objective: Objective, queries: Tensor, keys: Tensor, target: SoftTarget, negatives: Sequence[Negatives], **options
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
    return mean_of_valid(rows, target)


def similarity_gap(objective: Objective, queries: Tensor, keys: Tensor, target: SoftTarget) -> Tensor | None:
    """Mean cosine of queries with their positives less that with all other keys, in [-2, 2]; None without cosines."""
    if not isinstance(objective, (InfoNCE, NegativeCosine)):
        return None
    similarities = queries @ keys.T
    others = ~target.support(keys.shape[0]) & target.valid[:, None]
    positive = mean_of_valid(target.pick(similarities), target)
    return positive - (similarities * others).sum() / others.sum().clamp_min(1)


def mean_of_valid(rows: Tensor, target: SoftTarget) -> Tensor:
    """The mean over the rows whose target is valid."""
    return torch.where(target.valid, rows, torch.zeros_like(rows)).sum() / target.valid.sum().clamp_min(1)


def _constant(vectors: Tensor) -> Tensor:
    constant = torch.zeros_like(vectors)
    constant[..., 0] = 1
    return constant


class ObjectiveProbe:
    """Listens to the first term of a step, when it is asked to.

    Args:
        objective: of the model.

    Attributes:
        readings: after a step that was listened to, scalars on the device: ``chance_level`` and ``chance_ratio`` (the
            loss, divided by it), ``similarity_gap``; each only where the objective has it.
    """

    def __init__(self, objective: nn.Module) -> None:
        self.readings: dict[str, Tensor] = {}
        self._listening = False
        if isinstance(objective, Objective):
            objective.register_forward_hook(self._hear, with_kwargs=True)

    def listen(self) -> None:
        """Listen to the next step."""
        self.readings = {}
        self._listening = True

    @torch.no_grad()
    def _hear(self, objective: Objective, inputs: tuple, options: dict, rows: Tensor) -> None:
        if not self._listening:
            return
        self._listening = False
        queries, keys, target = (part.detach() if isinstance(part, Tensor) else part for part in inputs[:3])
        negatives = [Negatives(*part) for part in (inputs[3] if len(inputs) > 3 else ())]
        chance = chance_level(objective, queries, keys, target, negatives, **options)
        gap = similarity_gap(objective, queries, keys, target)
        if chance is not None:
            self.readings['chance_level'] = chance
            self.readings['chance_ratio'] = mean_of_valid(rows.detach(), target) / chance
        if gap is not None:
            self.readings['similarity_gap'] = gap
