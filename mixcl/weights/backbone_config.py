"""Config of the encoder that pretraining, or any other training, leaves behind."""

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.recipes.paths import kind_of

PLAIN: dict[str, dict[str, Any]] = dict(
    MAEViT=dict(type='ContrastiveViT', out_type='featmap', fixed_position=True),
    MaskFeatViT=dict(type='ContrastiveViT', out_type='featmap'),
    SimMIMSwinTransformer=dict(type='mmpretrain.SwinTransformer'),
)
"""mmpretrain's backbones that see masked images, and their networks without masks; maps are averaged over patches."""

ONLY_MASKED = ('mask_ratio', 'mask_token')
"""Settings that only pretraining on masked images needs."""


def backbone_config(config: Config | None) -> dict | None:
    """Return the config of a model's backbone, without FrozenFeatures around it; None if there is none.

    For a backbone that is pretrained on masked images, return the config of the same network without masks.
    """
    backbone, model = None, None if config is None else config.get('model')
    while isinstance(model, ConfigDict) and isinstance(model.get('backbone'), ConfigDict):
        model = backbone = model['backbone']
    if backbone is None:
        return None
    kept = {name: value for name, value in backbone.to_dict().items() if name not in ONLY_MASKED}
    return kept | PLAIN.get(kind_of(backbone), {})


def image_shape(backbone: Mapping | None) -> tuple[int, int] | None:
    """Return the (height, width), up to a factor, of the images of a backbone's config; None if it does not say.

    A backbone whose config has no size is made for squares.
    """
    given = {**(backbone or {}), **((backbone or {}).get('arguments') or {})}
    name = 'pretrained_img_size' if kind_of(given) == 'DetectionViT' else 'img_size'
    square = (1, 1) if given.keys() & {'type'} else None
    match given.get(name, given.get('image_size')):
        case int():
            return 1, 1
        case [int(height), int(width)] if height > 0 and width > 0:
            return height, width
    return square
