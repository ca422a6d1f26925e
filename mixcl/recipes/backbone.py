"""Another backbone or size of images in the facts of a recipe (``backbone``, ``image_size``); the rest follows."""

import re
from collections.abc import Iterator
from typing import Any

import timm
import torchvision
from mmengine.config import Config, ConfigDict

from mixcl.backbones.patch_size import plain_patch_size
from mixcl.encoders.outputs import pooled_output
from mixcl.encoders.widths import blank_outputs, feature_width
from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.paths import kind_of, walk
from mixcl.recipes.pipelines import NO_VIEWS
from mixcl.recipes.sections import patch_of, sized
from mixcl.registry import MODELS, build, keywords_of
from mixcl.weights import checked_part, checkpoint_in, read_pretrained

KEPT = ('in_channels', 'frozen_blocks', 'lora')
"""Settings of the old backbone that the new one keeps."""

OPTIONAL = ('drop_path_rate', 'frozen_patch_embed')
"""Settings of the old backbone that the new one keeps if its class takes them."""


def use_backbone(cfg: Config, name: str, image_size: int | None = None) -> None:
    """Replace the backbone, with images of another size if one is given; crops follow its patches.

    Optimiser and schedule stay, but AdamW spares what the new backbone spares. Raises UserError if there is no such
    backbone, or the method masks tokens of its own.
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
    patch, old_patch = plain_patch_size(built), plain_patch_size(before)
    if patch:
        scale_sizes(cfg, 1.0, patch)
    width, old_width = _width(built, name, cfg), feature_width(before, old.get('in_channels', 3))
    neck = cfg.model.get('neck') or {}
    if neck.get('in_channels') == old_width:  # written by hand
        del neck['in_channels']
    for _, mixer in walk([cfg.model.get('mixer'), cfg.model.get('streams')]):
        if not isinstance(mixer, dict):
            continue
        if patch and old_patch and mixer.get('patch_size') == old_patch:  # written by hand
            del mixer['patch_size']
        if not patch and old_patch and mixer.get('type') in ('PatchMix', 'RegionSwap'):  # cut where the old one did
            mixer.setdefault(*('patch_size', old_patch) if mixer['type'] == 'PatchMix' else ('cell', 2 * old_patch))
    if cfg.optimizer.type.endswith(('Adam', 'AdamW', 'Muon')) and cfg.optimizer.get('spare', 'none') == 'none':
        cfg.optimizer.spare = 'flat'
    if (width, patch) != (old_width, old_patch) and cfg.get('config_name'):
        # Recipes of evaluations are chosen by it.
        own_name = re.sub('[^A-Za-z0-9.-]', '-', name.rpartition(':')[2])
        cfg.config_name = re.sub(r'(?<=/)(vit-|r\d)[^/_]*(?=_)', own_name, cfg.config_name)


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


def use_teacher(cfg: Config, name: str) -> None:
    """Make another pretrained encoder the teacher: 'timm:NAME', a file whose config says its backbone, or a run.

    Raises:
        UserError: if the recipe has no teacher, the weights cannot be read, or nothing says of which backbone they are.
    """
    if kind_of(cfg.model.get('target') or {}) != 'Teacher':
        raise UserError(f'`teacher={name}`: {cfg.config_name} has no teacher; train by distillation (`method`)')
    if name.startswith('timm:'):
        backbone, weights = config_by_name(name), name
    else:
        weights = checkpoint_in(name)
        pretrained = read_pretrained(weights, ('target', 'online'))
        if pretrained.backbone is None:
            raise UserError(
                f'`teacher={name}` does not say of which backbone it has the weights: write model.target=dict('
                f'type="Teacher", backbone=dict(...), pretrained={name!r}) in a config'
            )
        backbone = checked_part(pretrained.backbone, MODELS, name, 'model.backbone')
        backbone.pop('img_size', None)  # follows from that of its images
    kept = {key: cfg.model.target[key] for key in ('type', 'size') if key in cfg.model.target}
    cfg.model.target = ConfigDict(**kept, backbone=backbone, pretrained=weights)


def config_by_name(name: str) -> dict[str, Any]:
    """Return the config of a backbone: 'timm:NAME', 'torchvision:NAME', 'package.module:Class'; else UserError."""
    library, _, rest = name.partition(':')
    if rest:
        kinds = dict(timm='TimmBackbone', torchvision='TorchvisionBackbone')
        return dict(type=kinds[library], name=rest) if library in kinds else dict(type='ImportedBackbone', path=name)
    known = dict(timm=timm.is_model(name), torchvision=name in torchvision.models.list_models())
    found = ' or '.join(f'{library}:{name}' for library, has_it in known.items() if has_it)
    raise UserError(
        f'`backbone={name}` names no library; write '
        + (found or 'timm:NAME, torchvision:NAME or the path of a class of yours, package.module:Class')
    )


def use_image_size(cfg: Config, size: int) -> None:
    """Train and evaluate on images of another size in pixels.

    The largest view gets this size. All others, also of evaluations, change in proportion, to multiples of the patches.
    Raises UserError if the patches do not divide the size.
    """
    patch = patch_of(cfg.model.backbone) or 1
    cfg.model.backbone.pop('img_size', None)  # follows
    if size < 1 or size % patch:
        near = max(round(size / patch), 1) * patch
        raise UserError(f'`image_size={size}` is no multiple of the patches of {patch} pixels; {near} is')
    scale_sizes(cfg, size / cfg.data.size, patch)


def scale_sizes(cfg: Config, scale: float, multiple: int) -> None:
    """Scale the sizes of images; those that a backbone sees become multiples of ``multiple``."""
    data, before = cfg.data, cfg.data.size
    for sizes in (data, *views_in(cfg)):
        if sizes.get('size'):
            sizes['size'] = max(multiple, round(sizes['size'] * scale / multiple) * multiple)
    if data.get('resize'):
        data.resize = max(1, round(data.resize * scale))
    for step in data.read:
        if isinstance(step, dict) and isinstance(step.get('scale'), int):
            step['scale'] = max(1, round(step['scale'] * data.size / before))


def views_in(cfg: Config) -> Iterator[dict]:
    """Yield what a recipe says about views, its own and those that suit the data."""
    for views in (cfg['views'], cfg.data.views):
        yield from (view for name, view in views.items() if isinstance(view, dict) and name not in NO_VIEWS[1:])
