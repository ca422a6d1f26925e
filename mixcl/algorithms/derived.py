"""Settings of a learner's parts that follow from its other parts, where the config does not give them."""

import math
from collections.abc import Mapping
from typing import Any

from mmengine.registry import Registry
from mmpretrain.models import VisionTransformer
from torch import nn

from mixcl.backbones.patch_size import patch_size_of
from mixcl.encoders.outputs import last_output
from mixcl.encoders.widths import blank_outputs, feature_width
from mixcl.errors import UserError
from mixcl.registry import LOSSES, MODELS, TARGET_ENCODERS, keywords_of

WIDTHS = ('channels', 'num_prototypes')
"""Arguments of objectives that are the width of the heads' output, where a class requires them."""

SIDE = 224
"""Side of the image that tells the stride of a backbone with merged patches."""


def neck_of(neck: Mapping, backbone: nn.Module, image_channels: int) -> dict[str, Any]:
    """Return the config of a projector with its input width, that of the backbone's features."""
    missing = 'in_channels' in _arguments(MODELS, neck) and neck.get('in_channels') is None
    return dict(neck) | (dict(in_channels=feature_width(backbone, image_channels)) if missing else {})


def projector_of(neck: Mapping, target: Mapping) -> dict[str, Any]:
    """Return the config of a projector with its output width, where the target encoder has one of its own."""
    kind: Any = TARGET_ENCODERS.get(target.get('type', ''))
    if not hasattr(kind, 'key_width'):
        return dict(neck)
    return completed(neck, 'neck', dict(out_channels=kind.key_width(**_without_type(target))), 'model.target')


def with_widths(
    width: int | None, predictor: Mapping | None, objective: Mapping, patches: Any, memory: Mapping[str, Mapping]
) -> tuple[dict | None, dict, Any, dict]:
    """Return the configs of what takes projections, with their width where one is missing and it is known."""
    if isinstance(patches, Mapping) and 'objective' in patches:
        patches = {**patches, 'objective': objective_of(patches['objective'], width)}
    head = None if predictor is None else predictor_of(predictor, width)
    queues = {name: _filled(settings, dict(channels=width)) for name, settings in memory.items()}
    return head, objective_of(objective, width), patches, queues


def predictor_of(predictor: Mapping, width: int | None) -> dict[str, Any]:
    """Return the config of a predictor with its widths, both those of the projections unless it gives them."""
    names = [name for name in ('in_channels', 'out_channels') if name in _arguments(MODELS, predictor)]
    return _filled(predictor, dict.fromkeys(names, width))


def objective_of(objective: Mapping, width: int | None) -> dict[str, Any]:
    """Return the config of an objective with the width of the projections: DINO's prototypes, SwAV's channels."""
    required = [name for name, one in _arguments(LOSSES, objective).items() if one.default is one.empty]
    return _filled(objective, {name: width for name in WIDTHS if name in required})


def decoders_of_mae(backbone: nn.Module) -> dict[str, dict[str, int]]:
    """Return the settings of MAE's decoder and head that follow from a vision transformer."""
    if not isinstance(backbone, VisionTransformer) or (patch := patch_size_of(backbone)) is None:
        return {}
    patches = math.prod(backbone.patch_resolution)
    return dict(
        neck=dict(num_patches=patches, patch_size=patch, embed_dim=backbone.embed_dims), head=dict(patch_size=patch)
    )


def decoders_of_simmim(backbone: nn.Module) -> dict[str, dict[str, int]]:
    """Return the settings of SimMIM's decoder and head that follow from a backbone that gives maps."""
    if (patch := patch_size_of(backbone)) is None:
        return {}
    if isinstance(backbone, VisionTransformer):
        width, stride = backbone.embed_dims, patch
    else:  # Swin merges its patches
        last = last_output(blank_outputs(backbone, 3, SIDE, mask=None))
        width, stride = last.shape[1], SIDE // last.shape[2]
    return dict(neck=dict(in_channels=width, encoder_stride=stride), head=dict(patch_size=patch))


def completed(config: Mapping, place: str, facts: Mapping[str, int], source: str = 'model.backbone') -> dict[str, Any]:
    """Return the config of a part, at ``place`` of the model, with what follows from another, by default the backbone.

    Raises:
        UserError: if the config says something else.
    """
    taken = {name: value for name, value in facts.items() if name in _arguments(MODELS, config)}
    for name, value in taken.items():
        if config.get(name, value) != value:
            raise UserError(f'model.{place}.{name}={config[name]!r}, but from {source} follows {value}; leave it out')
    return dict(config) | taken


def _without_type(config: Mapping) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != 'type'}


def _filled(config: Mapping, values: Mapping[str, int | None]) -> dict[str, Any]:
    known = {name: value for name, value in values.items() if value is not None and config.get(name) is None}
    return dict(config) | known


def _arguments(registry: Registry, config: Mapping) -> dict[str, Any]:
    """Return the keyword arguments of the class that a config names; none if it is unknown, which building says."""
    kind = config.get('type')
    found = registry.get(kind) if isinstance(kind, str) else kind
    return keywords_of(found) if callable(found) else {}
