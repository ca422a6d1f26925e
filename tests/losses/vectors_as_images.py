"""The engine with an encoder that passes vectors through, so that test vectors can be given as images.

A mixture's embedding is then the mixture of the embeddings, which the objectives normalise.
"""

import torch
from torch import Tensor, nn

from mixcl.algorithms import ContrastiveLearner
from mixcl.registry import MODELS


@MODELS.register_module(force=True)
class PassThrough(nn.Identity):
    """Gives its input."""


class GivenShares:
    """Hands out lambdas that were written down."""

    def __init__(self, *shares: float) -> None:
        self.shares = torch.tensor(shares, dtype=torch.float64)

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        assert n == len(self.shares)
        return self.shares


def learner(
    shares: tuple[float, ...] = (), pairs: tuple[list[int], list[int]] | None = None, **config
) -> ContrastiveLearner:
    """A learner that mixes by Mixup, with the given lambdas and, in place of flips, the given owners and partners."""
    mixed = {'mix1': dict(mix='view1'), 'mix2': dict(mix='view2')}
    plain = dict(backbone=dict(type='PassThrough'), neck=dict(type='PassThrough'), target=dict(type='Shared'))
    model = MODELS.build(
        dict(type='ContrastiveLearner', mixer=dict(type='Mixup'), streams=mixed) | plain | config
    ).double()
    model.recipe.mixer.share = GivenShares(*shares)
    if pairs is not None:
        model.recipe.mixer.pairing = lambda n, generator: tuple(torch.tensor(part) for part in pairs)
    return model


def losses(model: ContrastiveLearner, *views: Tensor) -> dict[str, float]:
    """The terms of a step by (query, key), from one (B, D) matrix of vectors per view."""
    outputs = model([view[:, :, None, None] for view in views], mode='loss')
    return {(term.query, term.key): outputs[term.name].item() for term in model.terms}
