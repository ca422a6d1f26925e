"""Log of the state of the representation, and warnings in words."""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn

from mixcl.distributed import unwrapped
from mixcl.engine.hooks.health.first_term import readings
from mixcl.engine.hooks.health.step_log import is_logged
from mixcl.losses import Objective
from mixcl.registry import HOOKS

EMBEDDINGS = 1024
"""Number of rows, from several steps, whose rank is measured, so that a small batch does not bound it."""
APART = 0.05
"""Similarity gap above which images are told apart, even if a high temperature keeps the loss near its chance level."""


class Rule(NamedTuple):
    """Sign of trouble: a logged scalar that leaves its bounds, and a sentence that says what this means."""

    name: str
    scalar: str
    sentence: str
    low: float = -math.inf
    high: float = math.inf


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
        'and its warm-up, and that the views of an image show the same image (mixcl visualize views)',
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


@HOOKS.register_module()
class HealthHook(Hook):
    """Logs the state of the representation, and warns in words when a run collapses, stagnates or diverges.

    At every logged step, it reads the first term of the model from what the step computes anyway, see
    :func:`~mixcl.engine.hooks.health.first_term.readings`; training is bit-identical with and without the hook.

    These readings, the spread of the features (``feature_std``, which the model logs) and the norm of the gradient,
    averaged over all processes, are compared with the bounds of :data:`RULES`. The hook warns when a sign has lasted
    for ``patience`` readings in a row, and again only after the sign was gone.

    Args:
        grace: steps at the start without warnings; an encoder at its initialisation looks collapsed.
        patience: readings, one per line of the log; at least 1. For a spike of the gradient, one reading is enough.
    """

    # Runs after the hooks of normal priority (50), whose values it reads, and before the logger (60).
    priority = 55

    def __init__(self, grace: int = 1000, patience: int = 3) -> None:
        self.grace = grace
        self.patience = patience
        self._readings_broken = {rule.name: 0 for rule in RULES}
        self._norms: deque[float] = deque(maxlen=100)
        self._embeddings: deque[Tensor] = deque()
        self._features = torch.empty(0)
        self._listening = False
        self.first_term: Callable[[], dict[str, Tensor]] = dict

    def before_train(self, runner: Runner) -> None:
        self.watch(unwrapped(runner.model))

    def watch(self, model: nn.Module) -> None:
        """Observe the steps of a model, if it is a contrastive learner; others have no terms."""
        if isinstance(getattr(model, 'objective', None), Objective):
            model.observers.append(self._see_embeddings)
            model.objective.register_forward_hook(self._see_term, with_kwargs=True)

    def listen(self) -> None:
        """Let ``first_term()`` return the readings of the next step's first term."""
        self.first_term, self._listening = dict, True

    def before_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        if is_logged(runner, batch_idx):
            self.listen()

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        if not is_logged(runner, batch_idx):
            return
        for name, value in self.first_term().items():
            runner.message_hub.update_scalar(f'train/{name}', value)
        values = self._values(runner)
        if runner.iter + 1 <= self.grace:
            return
        if 'gradient_norm' in values:
            values['gradient_ratio'] = self._compared(values['gradient_norm'])
        if 'chance_ratio' in values and values.get('similarity_gap', 0) > APART:
            values['chance_ratio'] = 0
        for rule in RULES:
            if rule.scalar in values:
                self._apply(runner, rule, values[rule.scalar])

    def _see_embeddings(self, features: dict[str, Tensor], projections: dict[str, Tensor]) -> None:
        first = next(iter(features))
        self._features = features[first].detach()
        self._embeddings.append(projections[first].detach()[:EMBEDDINGS])
        while sum(map(len, self._embeddings)) - len(self._embeddings[0]) >= EMBEDDINGS:
            self._embeddings.popleft()

    def _see_term(self, objective: Objective, inputs: tuple, options: dict, rows: Tensor) -> None:
        if self._listening:
            self._listening = False
            queries, keys, *others = inputs
            embeddings = torch.cat(list(self._embeddings))[-EMBEDDINGS:]
            self._embeddings.clear()
            vectors = rows.detach(), queries.detach(), keys.detach()
            self.first_term = partial(readings, objective, self._features, embeddings, *vectors, *others, **options)

    def _values(self, runner: Runner) -> dict[str, float]:
        """Return the newest values of all scalars in the rules, averaged over the processes."""
        hub = runner.message_hub
        names = sorted({rule.scalar for rule in RULES if f'train/{rule.scalar}' in hub.log_scalars})
        values = torch.tensor([hub.get_scalar(f'train/{name}').current() for name in names], dtype=torch.float32)
        if names:
            all_reduce(values, op='mean')
        return dict(zip(names, values.tolist(), strict=True))

    def _compared(self, norm: float) -> float:
        """Return the norm of the gradient as a multiple of the median of the last readings."""
        usual = median(self._norms) if len(self._norms) >= 10 else float('inf')
        self._norms.append(norm)
        return norm / max(usual, 1e-30)

    def _apply(self, runner: Runner, rule: Rule, value: float) -> None:
        broken = value < rule.low or value > rule.high
        self._readings_broken[rule.name] = count = self._readings_broken[rule.name] + 1 if broken else 0
        if count == (1 if rule.name == 'spike' else self.patience):
            runner.logger.warning(f'step {runner.iter + 1}: {rule.sentence.format(value=value)}')
