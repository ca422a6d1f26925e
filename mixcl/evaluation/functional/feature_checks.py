"""Checks of features and of the settings of measures, before anything is computed from them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, POSITIVE, SEVERAL, TEMPERATURE, Range, check_list, check_range

RANGES: dict[str, Range] = {
    **dict.fromkeys(('rates', 'costs'), POSITIVE),
    'temperature': TEMPERATURE,
    **dict.fromkeys(('neighbours', 'shots', 'draws', 'samples', 'topk', 'epochs', 'batch_size'), COUNT),
    **dict.fromkeys(('classes', 'images'), SEVERAL),
    'weight_decays': NOT_NEGATIVE,
    'momentum': BELOW_ONE,
    'held_out': Range('a number above 0 and below 1', lambda value: 0 < value < 1),
    'jobs': Range('a whole number of at least 1, or -1 for all cores', lambda value: value == -1 or COUNT.test(value)),
    'seed': Range('a whole number from 0 to 2**32 - 1', lambda value: COUNT.test(value + 1) and value < 2**32),
}
"""Allowed values, by the name of a setting."""

LISTS = ('neighbours', 'shots', 'topk', 'rates', 'costs', 'weight_decays')
"""Settings that are non-empty lists of such numbers."""


def check_settings(kind: str, settings: Mapping[str, Any]) -> None:
    """Raise :class:`UserError`, naming the ``kind`` of class, for the first setting that is out of range."""
    for name, value in settings.items():
        check = check_list if name in LISTS else check_range
        check(kind, RANGES[name], **{name: value})


def check_finite(**sets: Tensor) -> None:
    """Raise :class:`UserError` if features (N, D) hold NaN or infinity; messages name the keyword: ``bank=...``."""
    for name, features in sets.items():
        # aminmax passes NaN on and, unlike isfinite, needs no mask as large as the features.
        if not all(extreme.isfinite() for extreme in torch.aminmax(features)):
            raise UserError(
                f'{name} features contain NaN or infinity: the encoder diverged or its checkpoint is damaged, '
                'look at the training loss or take an earlier checkpoint'
            )
