"""mmpretrain."""

import inspect
from pathlib import Path
from pprint import pformat
from typing import Any

import torch
from mmpretrain.models import backbones

from mixcl.weights.export.base import Exported, Loading

LOAD = """
from mmpretrain import get_model
model = get_model('PATH/config.py', pretrained='PATH/backbone.pth')
features = model.extract_feat(images)[-1]
"""
OF_TRAINING = frozenset({'drop_path_rate', 'frozen_stages', 'init_cfg', '_scope_'})


def write_mmpretrain(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``backbone.pth`` and ``config.py`` of a classifier without head."""
    kinds = [kind for kind in type(exported.backbone).__mro__ if kind.__module__.startswith(backbones.__name__)]
    if not kinds or issubclass(kinds[0], backbones.TIMMBackbone):
        raise exported.refusal('mmpretrain', 'it is none of its backbones')
    # What mixcl's own classes add decides how they are initialised and trained.
    ours = [kind for kind in type(exported.backbone).__mro__ if kind.__module__.startswith('mixcl.')]
    left_out = OF_TRAINING.union(*(inspect.signature(kind).parameters for kind in ours))
    backbone = {key: value for key, value in exported.config.items() if key not in left_out}
    backbone['type'], given = f'mmpretrain.{kinds[0].__name__}', exported.preprocessing
    with torch.no_grad():
        is_map = exported.outputs(torch.zeros(1, given.channels, given.size, given.size)).dim() == 4
    write_config(
        folder,
        'model',
        type='mmpretrain.ImageClassifier',
        backbone=backbone,
        neck=dict(type='mmpretrain.GlobalAveragePooling') if is_map else None,
        data_preprocessor=dict(statistics(exported), to_rgb=given.channels == 3),
    )
    state = exported.backbone.state_dict()
    torch.save({f'backbone.{name}': value for name, value in state.items()}, folder / 'backbone.pth')
    return (Loading(('mmpretrain',), LOAD),)


def statistics(exported: Exported) -> dict[str, Any]:
    """Mean and deviation of values from 0 to 255."""
    given = exported.preprocessing
    return dict(
        mean=[round(255 * value, 3) for value in given.mean], std=[round(255 * value, 3) for value in given.std]
    )


def write_config(folder: Path, name: str, **content: Any) -> None:
    """Write ``config.py`` with one variable."""
    (folder / 'config.py').write_text(f'{name} = {pformat(content, sort_dicts=False, width=100)}\n', encoding='utf-8')
