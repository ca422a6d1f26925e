"""The table of terms as sentences."""

from collections.abc import Mapping
from typing import Any

from mixcl.errors import UserError

SENTENCES = {
    (False, False): '{query} of each image is pulled to {key} of the same image',
    (True, False): 'each mixture of {query} is pulled to {key} of the images that it is made of, to each by its share',
    (False, True): '{query} of each image is pulled to the mixtures of {key} that have a part of it, by its share',
    (True, True): 'each mixture of {query} is pulled to the mixtures of {key} that share images with it, the more '
    'shared the stronger',
}
"""By whether query and key are mixtures."""


def call(settings: Any) -> str:
    """Settings of a config as Python would write the call: ``PatchMix(num_mix=3)``."""
    if not isinstance(settings, Mapping):
        return str(settings)
    words = [f'{key}={call(value)}' for key, value in settings.items() if key != 'type']
    return f'{settings.get("type", "dict")}({", ".join(words)})'


def term_rows(model: Mapping[str, Any]) -> list[list[str]]:
    """For each row of the table query, key, weight, and what it says.

    Raises:
        UserError: if the model is no pretraining.
    """
    if not model.get('terms'):
        raise UserError('this model has no table of terms: it is no contrastive pretraining of mixcl')
    mixed = {name: part['mix'] for name, part in (model.get('streams') or {}).items() if 'mix' in part}
    rows = []
    for query, key, weight, *options in model['terms']:
        sentence = SENTENCES[query in mixed, key in mixed].format(
            query=mixed.get(query, query), key=mixed.get(key, key)
        )
        rows.append([query, key, f'{weight:.4g}', sentence + ''.join(f', with {call(one)}' for one in options)])
    return rows
