"""When the values in the log mean that a run goes wrong, and how to say so."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One sign of trouble.

    Attributes:
        name: for ``abort``.
        scalar: what it looks at, by its name in the log.
        sentence: what it means and what helps; ``{value}`` stands for the value.
        low, high: the value must stay between them.
    """

    name: str
    scalar: str
    sentence: str
    low: float = -math.inf
    high: float = math.inf

    def broken_by(self, value: float) -> bool:
        """Whether a value is a sign of trouble."""
        return value < self.low or value > self.high


RULES = (
    Rule(
        'collapse',
        'feature_std',
        'the features of different images are nearly the same (feature_std {value:.2g}; 1 is evenly spread, 0 '
        'collapsed); a lower learning rate, a longer warm-up or a higher EMA momentum helps most often',
        low=0.02,
    ),
    Rule(
        'rank',
        'effective_rank',
        'the features lie in {value:.2g} dimensions; they collapse to a line or a plane',
        low=2.0,
    ),
    Rule(
        'chance',
        'chance_ratio',
        'the loss is {value:.0%} of what guessing gives: the model does not tell images apart; check the learning rate '
        'and its warm-up, and that the views of an image show the same image (tools/visualize_mix.py)',
        high=0.98,
    ),
    Rule(
        'gap',
        'similarity_gap',
        'positive pairs are hardly more similar than negative ones (gap {value:.2g}): the encoder maps everything to '
        'the same place, or has learnt nothing yet',
        low=0.01,
    ),
    Rule(
        'gradient',
        'gradient_norm',
        'the gradient is {value:.2g}: nothing reaches the weights; a loss that is constant has no gradient',
        low=1e-8,
    ),
    Rule(
        'spike',
        'gradient_ratio',
        'the gradient is {value:.2g} times its median: training is about to diverge; a lower learning rate or '
        'optim_wrapper.clip_grad helps',
        high=20.0,
    ),
)
