"""The table of terms as sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from mixcl.errors import UserError

TARGETS = dict(
    EMA='a moving average of the online encoder',
    ShuffledEMA='a moving average of the online encoder, which sees the batch shuffled among processes',
    StopGrad='the online encoder, without gradient',
    Shared='the online encoder, with gradient',
)
RULES = dict(owner='each row counts as its owner alone', even='the images of a mixture count alike')


def call(settings: Any) -> str:
    """Settings of a config as Python would write the call: ``PatchMix(num_mix=3)``."""
    if not isinstance(settings, Mapping):
        return str(settings)
    rest = ', '.join(f'{key}={value!r}' for key, value in settings.items() if key != 'type')
    return f'{settings.get("type", "dict")}({rest})'


def term_rows(model: Mapping[str, Any]) -> list[list[str]]:
    """For each row of the table query, key, weight, and what it says.

    Raises:
        UserError: if the model is no pretraining.
    """
    if not model.get('terms'):
        raise UserError('this model has no table of terms: it is no contrastive pretraining of mixcl')
    mixed = {name: part['mix'] for name, part in (model.get('streams') or {}).items() if 'mix' in part}
    mixer = call(model.get('mixer') or {}).partition('(')[0]
    return [[row[0], row[1], f'{row[2]:.4g}', _sentence(row, mixed, mixer)] for row in model['terms']]


def encoders_in_words(model: Mapping[str, Any]) -> list[str]:
    """Who encodes queries and keys, and what compares them."""
    target = model.get('target') or {}
    momentum = f' (momentum {target["momentum"]})' if 'momentum' in target else ''
    head = 'backbone, neck and predictor' if model.get('predictor') else 'backbone and neck'
    lines = [
        f'Queries pass the online encoder: {head}.',
        f'Keys pass {TARGETS.get(str(target.get("type")), call(target))}{momentum}.',
        f'The objective is {call(model.get("objective"))}.',
    ]
    return [*lines, f'Mixtures are made by {call(model["mixer"])}.'] if model.get('mixer') else lines


def _sentence(row: Sequence[Any], mixed: Mapping[str, str], mixer: str) -> str:
    query, key, options = row[0], row[1], dict(row[3]) if len(row) > 3 else {}
    match query in mixed, key in mixed:
        case False, False:
            said = f'{query} of each image is pulled to {key} of the same image'
        case True, False:
            said = (
                f'each mixture of {mixed[query]} ({mixer}) is pulled to {key} of the images that it is made of, to '
                'each by its share'
            )
        case False, True:
            said = (
                f'{query} of each image is pulled to the mixtures of {mixed[key]} ({mixer}) that the image is part of, '
                'to each by its share'
            )
        case _:
            said = (
                f'each mixture of {mixed[query]} ({mixer}) is pulled to the mixtures of {mixed[key]} that share images '
                'with it, the more shared the stronger'
            )
    said += f'; {RULES[options.pop("target")]}' if options.get('target') in RULES else ''
    return said + (f' (with {", ".join(f"{name}={value!r}" for name, value in options.items())})' if options else '')
