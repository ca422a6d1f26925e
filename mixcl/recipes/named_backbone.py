"""Another backbone by its name (``backbone``); all that depends on it follows."""

import re
from typing import Any

import timm
import torchvision
from mmengine.config import Config, ConfigDict

from mixcl.backbones.patch_size import plain_patch_size
from mixcl.encoders.passes import pooled_output
from mixcl.encoders.widths import blank_outputs, feature_width
from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.options import scale_sizes, use_image_size, views_in
from mixcl.recipes.paths import kind_of, walk
from mixcl.recipes.sections import sized
from mixcl.registry import MODELS, build, keywords_of

KEPT = ('in_channels', 'frozen_blocks', 'lora')
"""Settings of the old backbone that the new one keeps."""

OPTIONAL = ('drop_path_rate', 'frozen_patch_embed')
"""Settings of the old backbone that the new one keeps if its class takes them."""


def use_backbone(cfg: Config, name: str, image_size: int | None = None) -> None:
    """Replace the backbone (``backbone``), with images of another size if one is given; crops follow its patches.

    Optimiser and schedule stay, but AdamW spares what the new backbone spares.

    Raises:
        UserError: if there is no such backbone, or the method masks tokens of its own.
    """
    if kind_of(cfg.model) in ('MAE', 'SimMIM'):
        raise UserError(
            f'`backbone={name}`: {kind_of(cfg.model)} trains only the backbone of its config, whose tokens it '
            'masks; change its size by model.backbone.arch, or choose another method'
        )
    old = cfg.model.backbone
    new = dict(config_by_name(name), **{key: old[key] for key in KEPT if key in old})
    taken = keywords_of(MODELS.get(new['type']))
    new |= {key: old[key] for key in OPTIONAL if old.get(key) and key in taken}
    cfg.model.backbone = ConfigDict(new)
    if image_size is not None:
        use_image_size(cfg, image_size)
    with undisturbed_generators(), as_user_error(f'`backbone={name}`'):
        before, built = (build(MODELS, sized(each, cfg.data.size)) for each in (old, new))
    patch, of_old = plain_patch_size(built), plain_patch_size(before)
    if patch:
        scale_sizes(cfg, 1.0, patch)
    elif of_old:  # mixers cut where the old one did
        for _, mixer in walk(cfg.model.get('mixer')):
            if isinstance(mixer, dict) and mixer.get('type') in ('PatchMix', 'RegionSwap'):
                key, value = ('patch_size', of_old) if mixer['type'] == 'PatchMix' else ('cell', 2 * of_old)
                mixer.setdefault(key, value)
    width, before_width = _width(built, name, cfg), feature_width(before, old.get('in_channels', 3))
    _drop_followed(cfg, before_width, of_old if patch else None)
    if 'Adam' in cfg.optimizer.type and cfg.optimizer.get('spare', 'none') == 'none':
        cfg.optimizer.spare = 'flat'
    if (width, patch) != (before_width, of_old) and cfg.get('config_name'):
        # Recipes of evaluations are chosen by it.
        own_name = re.sub('[^A-Za-z0-9.-]', '-', name.rpartition(':')[2])
        cfg.config_name = re.sub(r'(?<=/)(vit-|r\d)[^/_]*(?=_)', own_name, cfg.config_name)


def _drop_followed(cfg: Config, width: int, patch: int | None) -> None:
    """Drop widths of the old backbone's features, and its patches, where they are written by hand; they follow then."""
    neck = cfg.model.get('neck') or {}
    if neck.get('in_channels') == width:
        del neck['in_channels']
    for _, mixer in walk(cfg.model.get('mixer')):
        if isinstance(mixer, dict) and patch and mixer.get('patch_size') == patch:
            del mixer['patch_size']


def _width(backbone: Any, name: str, cfg: Config) -> int:
    """Return the number of channels of features; raises UserError for a size of the config that is not encoded."""
    sizes = sorted({cfg.data.size, *(view['size'] for view in views_in(cfg) if view.get('size'))}, reverse=True)
    for size in sizes:
        try:
            width = pooled_output(blank_outputs(backbone, cfg.model.backbone.get('in_channels', 3), size), backbone)
        except (AssertionError, IndexError, RuntimeError) as error:
            own = (getattr(backbone.model, 'default_cfg', None) or {}).get('input_size')
            made_for = f', it is made for {own[-1]}' if own else ''
            advice = 'choose a config without local crops' if size < sizes[0] else 'choose another `image_size`'
            raise UserError(
                f'`backbone={name}` cannot encode the crops of {size} pixels that the config has{made_for} '
                f'({" ".join(str(error).split())[:100]}): {advice}, or another backbone'
            ) from error
    return width.shape[1]


def config_by_name(name: str) -> dict[str, Any]:
    """Return the config of the backbone named 'timm:NAME', 'torchvision:NAME' or 'package.module:Class'.

    Raises:
        UserError: if the name has no such form; the message says which libraries have a model of that name.
    """
    library, _, rest = name.partition(':')
    if rest and library == 'timm':
        return dict(type='TimmBackbone', name=rest)
    if rest and library == 'torchvision':
        return dict(type='TorchvisionBackbone', name=rest)
    if rest:
        return dict(type='ImportedBackbone', path=name)
    known = dict(timm=timm.is_model(name), torchvision=name in torchvision.models.list_models())
    found = ' or '.join(f'{library}:{name}' for library, has_it in known.items() if has_it)
    raise UserError(
        f'`backbone={name}` names no library; write '
        + (found or 'timm:NAME, torchvision:NAME or the path of a class of yours, package.module:Class')
    )
