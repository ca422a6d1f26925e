"""mmpretrain."""

import inspect
from pathlib import Path
from pprint import pformat
from typing import Any

import torch
from mmpretrain.models import backbones

from mixcl.weights.export.base import Exported, Loading, Preprocessing, write_torch

LOAD = """
from mmpretrain import get_model
model = get_model('PATH/config.py', pretrained='PATH/backbone.pth')
features = model.extract_feat(images)[-1]
"""

OF_TRAINING = frozenset({'drop_path_rate', 'frozen_stages', 'init_cfg', '_scope_'})


def write_mmpretrain(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``backbone.pth`` with the names of a classifier's backbone, and ``config.py`` of a classifier without head.

    Raises:
        UserError: if the backbone is none of mmpretrain's.
    """
    backbone = mmpretrain_config(exported)
    model: dict[str, Any] = dict(
        type='mmpretrain.ImageClassifier',
        backbone=backbone,
        data_preprocessor=preprocessor(exported.preprocessing),
    )
    given = exported.preprocessing
    with torch.no_grad():
        is_map = exported.outputs(torch.zeros(1, given.channels, given.size, given.size)).dim() == 4
    if is_map:
        model['neck'] = dict(type='mmpretrain.GlobalAveragePooling')
    write_config(folder, model)
    state = exported.backbone.state_dict()
    write_torch(folder / 'backbone.pth', {f'backbone.{name}': value for name, value in state.items()})
    return (Loading(('mmpretrain',), LOAD),)


def mmpretrain_config(exported: Exported) -> dict[str, Any]:
    """The config of the backbone in mmpretrain alone: mixcl's own classes add nothing to what weights are used for.

    Raises:
        UserError: if the backbone is none of mmpretrain's.
    """
    kinds = [kind for kind in type(exported.backbone).__mro__ if kind.__module__.startswith(backbones.__name__)]
    if not kinds or issubclass(kinds[0], backbones.TIMMBackbone):
        raise exported.refusal('mmpretrain', 'it is none of its backbones', 'timm, torchvision or onnx')
    # What mixcl's classes add decides how they are initialised and trained.
    ours = [kind for kind in type(exported.backbone).__mro__ if kind.__module__.startswith('mixcl.')]
    left_out = OF_TRAINING.union(*(inspect.signature(kind).parameters for kind in ours))
    config = {key: value for key, value in exported.config.items() if key not in left_out}
    return config | dict(type=f'mmpretrain.{kinds[0].__name__}')


def preprocessor(given: Preprocessing) -> dict[str, Any]:
    """mmpretrain's preprocessor; images come from its pipelines in BGR."""
    mean, std = ([255 * value for value in values] for values in (given.mean, given.std))
    return dict(mean=mean, std=std, to_rgb=given.channels == 3)


def write_config(folder: Path, model: dict[str, Any]) -> None:
    """Write ``config.py``."""
    (folder / 'config.py').write_text(f'model = {pformat(model, sort_dicts=False, width=100)}\n', encoding='utf-8')
