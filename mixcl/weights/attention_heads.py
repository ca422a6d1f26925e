"""Number of attention heads of a vision transformer, which its weights do not tell."""

from collections.abc import Iterator, Mapping
from typing import Any

import timm
import torch
from mmpretrain.models import VisionTransformer
from torch import nn

from mixcl.recipes.paths import kind_of

MOCO_V3 = 'MoCo v3, PatchMix or SDMP'
USUAL_HEADS = {192: 3, 384: 6, 768: 12, 1024: 16, 1280: 16}
"""Number of heads by the width of a vision transformer; in the format :data:`MOCO_V3`, width 384 has 12."""


def heads_in_config(backbone: Mapping[str, Any] | None) -> int | None:
    """Return the number of heads in the config of a backbone, as checkpoints of mixcl or mmpretrain carry it."""
    backbone = backbone or {}
    architecture = backbone.get('arch')
    if isinstance(architecture, str):
        known = dict(VisionTransformer.arch_zoo, **{'mocov3-small': dict(num_heads=12)})
        architecture = known.get(architecture)
    heads = architecture.get('num_heads') if isinstance(architecture, Mapping) else None
    if heads is None and kind_of(backbone) == 'TimmBackbone':
        heads = _heads_in_timm(backbone.get('name'), backbone.get('arguments'))
    return heads if isinstance(heads, int) else None


def _heads_in_timm(name: Any, arguments: Mapping[str, Any] | None) -> int | None:
    """Return the number of heads of a timm model by its arguments, or else by its name; uses no network."""
    if heads := (arguments or {}).get('num_heads'):
        return heads
    if not isinstance(name, str) or not timm.is_model(name):
        return None
    with torch.device('meta'):
        return _heads_of(timm.create_model(name.partition('.')[0]))


def usual_heads(module: nn.Module, format_name: str) -> int | None:
    """Return the usual number of heads in a format, for a vision transformer of the model's width; None if unknown."""
    norm = next((child for child in module.modules() if isinstance(child, nn.LayerNorm)), None)
    if norm is None or format_name in ('mixcl', 'mmpretrain', 'mixcl or mmpretrain', 'unknown'):
        return None
    width = norm.normalized_shape[0]
    return 12 if format_name == MOCO_V3 and width == 384 else USUAL_HEADS.get(width)


def head_mismatch(module: nn.Module, heads: int | None, who: str = 'it was trained with') -> Iterator[str]:
    """Yield a sentence if a model has another number of heads than a file."""
    own = _heads_of(module)
    if heads is not None and own not in (None, heads):
        place = 'arguments' if isinstance(getattr(module, 'model', None), nn.Module) else 'arch'
        yield (
            f'{who} {heads} attention heads, but the model has {own}; weights do not show the number, so set '
            f'model.backbone.{place}.num_heads={heads}'
        )


def _heads_of(module: nn.Module) -> int | None:
    """Return the number of attention heads of a model; None if it has no attention."""
    names = ('num_heads', 'num_attention_heads')
    found = (getattr(child, name) for child in module.modules() for name in names if hasattr(child, name))
    return next((heads for heads in found if isinstance(heads, int)), None)
