"""Replacement of a config's backbone by name; all that depends on the backbone follows."""

import copy
import re
from typing import Any

import timm
import torch
import torchvision
from mmengine.config import Config, ConfigDict
from torch import nn

from mixcl.errors import UserError, as_user_error
from mixcl.experiments.data_roots import DATA_SECTIONS
from mixcl.experiments.options.image_size import crop_sizes, patch_size_of, resize_views, set_image_size
from mixcl.experiments.paths import kind_of, walk
from mixcl.heads.mlp import pooled
from mixcl.randomness import undisturbed_generators
from mixcl.registry import MODELS, build

KEPT = ('in_channels', 'frozen_blocks', 'lora')
"""Settings of the old backbone that the new one keeps."""


def use_backbone(cfg: Config, name: str, image_size: int | None = None) -> None:
    """Put a backbone into a config, in place (``--backbone``), with views of another size if ``image_size`` is given.

    Everything that depends on the backbone follows: the input width of the projector (or of a classifier's linear
    head), the model's image size, crops that the patches do not divide, the patches of mixers and of sampled patches,
    and which parameters decay. Optimiser and schedule stay.

    Raises:
        UserError: if there is no such backbone, or it cannot encode the crops of the config.
    """
    model = cfg.get('model') or {}
    if kind_of(model) in ('MAE', 'SimMIM'):
        raise UserError(
            f'`backbone={name}`: {kind_of(model)} masks tokens of the backbone of its config; choose the size of '
            'that one, by model.backbone.arch, or another method'
        )
    head = next((model[part] for part in ('neck', 'head') if 'in_channels' in (model.get(part) or {})), None)
    trained = 'backbone' in model and 'backbone' not in model.backbone  # FrozenFeatures have one
    if not trained or head is None or not crop_sizes(cfg.get('train_dataloader')):
        raise UserError(f'`backbone={name}`: the config has no backbone and projector that train on crops')
    old, width = model.backbone, head.in_channels
    model.backbone = ConfigDict(backbone_config(name), **{key: old[key] for key in KEPT if key in old})
    if image_size is not None:
        set_image_size(cfg, image_size)
    # The user's module may do anything while it is built, also look at its weights.
    device = torch.device('cpu' if model.backbone.type == 'ImportedBackbone' else 'meta')
    with device, undisturbed_generators(), as_user_error(f'`backbone={name}`'):
        built = _fitted(model.backbone, old, max(crop_sizes(cfg.train_dataloader)))
    if patch := plain_patch_size(built):
        resize_views({name: cfg[name] for name in DATA_SECTIONS if name in cfg}, 1.0, patch)
        _follow_patches((model.get('mixer'), cfg.train_dataloader, cfg.get('custom_hooks')), patch)
    channels = model.backbone.get('in_channels', 3)
    head.in_channels = _width(built, name, channels, crop_sizes(cfg.train_dataloader), device)
    _spare_from_decay(cfg)
    if (head.in_channels, patch) != (width, patch_size_of(old)) and cfg.get('config_name'):
        # Recipes of evaluations are chosen by this name.
        own_name = re.sub('[^A-Za-z0-9.-]', '-', name.rpartition(':')[2])
        cfg.config_name = re.sub(r'(?<=/)(vit-|r\d)[^/_]*(?=_)', own_name, cfg.config_name)


def backbone_config(name: str) -> dict[str, Any]:
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


def plain_patch_size(backbone: nn.Module) -> int | None:
    """Return the side of a patch in pixels if all blocks have the same patches, else None."""
    patch, info = getattr(backbone, 'patch_size', None), getattr(backbone.model, 'feature_info', None)
    return patch if patch and isinstance(info, list) and info[-1]['reduction'] == patch else None


def _fitted(backbone: ConfigDict, old: ConfigDict, size: int) -> Any:
    """Build a backbone with the optional settings that it takes, and add these to its config."""
    if backbone.type != 'TimmBackbone':
        return build(MODELS, copy.deepcopy(backbone))
    own = {key: old[key] for key in ('drop_path_rate', 'frozen_patch_embed') if old.get(key)}
    arguments = dict(img_size=size, dynamic_img_size=True)
    while True:
        wanted = ConfigDict(backbone, **own, **({'arguments': arguments} if arguments else {}))
        try:
            built = build(MODELS, copy.deepcopy(wanted))
        except TypeError as error:
            unknown = re.search(r"unexpected keyword argument[^']*'(\w+)'", str(error))
            holder = own if unknown and unknown[1] in own else arguments
            if unknown is None or holder.pop(unknown[1], None) is None:
                raise
        else:
            backbone.update(wanted)
            return built


def _width(backbone: Any, name: str, channels: int, sizes: list[int], device: torch.device) -> int:
    """Return the number of channels of features; crops of every size are encoded."""
    backbone.eval()
    for size in sorted(set(sizes), reverse=True):
        try:
            with torch.no_grad(), device:
                last = backbone(torch.zeros(2, channels, size, size))[-1]
        except (AssertionError, IndexError, RuntimeError, ValueError) as error:
            own = (getattr(backbone.model, 'default_cfg', None) or {}).get('input_size')
            made_for = f', it is made for {own[-1]}' if own else ''
            advice = 'choose a config without local crops' if size < max(sizes) else 'choose another `image_size`'
            raise UserError(
                f'`backbone={name}` cannot encode the crops of {size} pixels that the config has{made_for} '
                f'({" ".join(str(error).split())[:100]}): {advice}, or another backbone'
            ) from error
        if not isinstance(last, torch.Tensor) or last.dim() not in (2, 4):
            shape = tuple(last.shape) if isinstance(last, torch.Tensor) else type(last).__name__
            raise UserError(
                f'`backbone={name}` gives {shape} for two images, but a backbone gives (2, C) or (2, C, h, w)'
            )
    if last.dim() == 4 and last.shape[2] != last.shape[3]:  # though crops are square
        raise UserError(
            f'`backbone={name}` gives maps {tuple(last.shape)}, channels last: permute them to (B, C, h, w)'
        )
    return pooled(last).shape[1]


def _follow_patches(parts: object, patch: int) -> None:
    """Make all that cuts images into patches cut where the backbone does, and clipping find the blocks of timm."""
    for _, node in walk(parts):
        kind = kind_of(node) if isinstance(node, dict) else None
        if kind in ('PatchMix', 'SampledPatchPair'):
            node['patch_size'] = patch
        elif kind == 'RegionSwap':
            node['cell'] = max(round(node.get('cell', 32) / patch), 1) * patch
        elif kind == 'AdaptiveClipHook':
            node['blocks'] = 'backbone.model.blocks'


def _spare_from_decay(cfg: Config) -> None:
    """Spare norms, biases and what the backbone names from decay under optimisers like Adam (FewGroupsConstructor)."""
    wrapper = cfg.get('optim_wrapper') or {}
    if 'Adam' in str((wrapper.get('optimizer') or {}).get('type')) and 'constructor' in wrapper:
        wrapper.paramwise_cfg = dict(flat_decay_mult=0.0) | dict(wrapper.get('paramwise_cfg') or {})
