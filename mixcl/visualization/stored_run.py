"""What a checkpoint says about its run, checked before anything of it is built."""

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.registry import DATASETS, LOSSES, MIXERS, MODELS, NEGATIVES, TARGET_ENCODERS, TRANSFORMS
from mixcl.weights import checked_part

OTHERS = dict(mixer=MIXERS, objective=LOSSES, target=TARGET_ENCODERS, terms=NEGATIVES)
"""Parts of a pretraining model that are no MODELS."""

PLACES = ('data_root', 'source')
"""Where images lie. They are only read."""


def checked_run(config: Config, source: str) -> Config:
    """The model and the images of a config that came with a file, as plain as :func:`checked_part` wants them.

    Raises:
        UserError: if it has other parts than any file may have.
    """
    stored = config.to_dict()
    model = stored.get('model') or {}
    parts: dict[str, Any] = dict(default_scope='mixcl', config_name=config.get('config_name'))
    parts['model'] = {
        **checked_part({key: value for key, value in model.items() if key not in OTHERS}, MODELS, source, 'model'),
        **{key: checked_part(model[key], OTHERS[key], source, f'model.{key}') for key in OTHERS if key in model},
    }
    if stored.get('data_preprocessor'):
        parts['data_preprocessor'] = checked_part(stored['data_preprocessor'], MODELS, source, 'data_preprocessor')
    for name in ('train_dataloader', 'val_dataloader', 'test_dataloader'):
        if dataset := (stored.get(name) or {}).get('dataset'):
            parts[name] = dict(dataset=_checked_dataset(dataset, source, f'{name}.dataset'))
    return Config(parts)


def _checked_dataset(settings: Mapping[str, Any], source: str, place: str) -> dict[str, Any]:
    apart: dict[str, Any] = {}
    if 'dataset' in settings:
        apart['dataset'] = _checked_dataset(settings['dataset'], source, f'{place}.dataset')
    if 'pipeline' in settings:
        apart['pipeline'] = checked_part(settings['pipeline'], TRANSFORMS, source, f'{place}.pipeline')
    if 'HuggingFace' not in str(settings.get('type')):  # those that have code of their own
        apart |= {key: settings[key] for key in PLACES if isinstance(settings.get(key), str)}
    rest = {key: value for key, value in settings.items() if key not in apart}
    return {**checked_part(rest, DATASETS, source, place), **apart}
