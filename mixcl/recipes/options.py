"""Options of a run as changes of the facts of its recipe, in place; see :class:`mixcl.recipes.prepared.Options`."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.backbones.patch_size import plain_patch_size
from mixcl.encoders.passes import pooled_output
from mixcl.encoders.widths import blank_outputs, feature_width
from mixcl.errors import UserError, as_user_error
from mixcl.files import check_writable
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.facts import FACTS, suggested
from mixcl.recipes.making import patch_of, refuse_facts_in_sections, sized
from mixcl.recipes.named_backbone import KEPT, backbone_config
from mixcl.recipes.overrides import merge
from mixcl.recipes.own_data import source_config, survey
from mixcl.recipes.paths import RUNNER_KEYS, kind_of, walk
from mixcl.recipes.pipelines import NO_VIEWS, READERS
from mixcl.recipes.reading import data_set
from mixcl.registry import DATASETS, MODELS, build, keywords_of

OPTIONAL = ('drop_path_rate', 'frozen_patch_embed')
"""Settings of the old backbone that the new one keeps if its class takes them."""


def facts_and_sections(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide overrides by dotted names into those of facts, which come first, and those of sections, which come last.

    Raises:
        UserError: for a name that is neither, or a setting of a section that follows from a fact.
    """
    of_facts = {key: value for key, value in overrides.items() if key.partition('.')[0] in {*FACTS, 'model'}}
    of_sections = {key: value for key, value in overrides.items() if key not in of_facts}
    for key, value in of_sections.items():
        name = key.partition('.')[0]
        if name not in RUNNER_KEYS:
            raise UserError(
                f'`cfg_options` {key}={value}: there is no fact and no section {name!r}'
                + suggested(name, {*FACTS, *RUNNER_KEYS})
            )
    nested = Config()
    merge(nested, of_sections)
    refuse_facts_in_sections(nested.to_dict())
    return of_facts, of_sections


def override_facts(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Set facts by dotted names, as if the config said so; raises UserError for what cannot be merged."""
    if isinstance(name := overrides.get('data'), str):
        overrides = {**overrides, 'data': dict(data_set(name), _delete_=True)}
    merge(cfg, overrides)
    of_data = cfg.data.get('views') or {} if isinstance(cfg.get('data'), Mapping) else {}
    for key in (key for key in overrides if key.startswith('views.')):
        _, view, setting, *_ = *key.split('.'), None
        for holder in (each for each in of_data if view == 'all' or each in ('all', view)):
            if setting in of_data[holder]:
                place = f'data.views.{holder}.{setting}'
                raise UserError(f'`cfg_options` {key} has no effect: {place}, for these images, wins')


def number_of_images(cfg: Config) -> int:
    """Return the number of images that a recipe trains on."""
    return len(build(DATASETS, {**cfg.data.images, **cfg.data.splits.get('train', {}), 'pipeline': []}))


def use_data(cfg: Config, spec: str, data_root: str | None, labels: bool) -> str:
    """Make a recipe train on other images (``data``); its views stay. With labels, kNN is measured.

    Pretraining sees no labels. kNN votes among the labelled images of the training part and tests the others.

    Returns:
        A sentence that says what was found.

    Raises:
        UserError: if the images cannot be read.
    """
    trained_on = dict(train_dataloader=dict(dataset=cfg.data.images))
    images = source_config(spec, data_root, trained_on, labels)
    found = survey(images)
    tested = dict(bank=dict(split='train'), test=dict(split='test')) if found.classes else {}
    others = [step for step in cfg.data.read if kind_of(step) not in READERS]
    # One by one: ConfigDict.update would merge them.
    cfg.data.images = ConfigDict(images)
    cfg.data.splits = ConfigDict(train=dict(split='pretrain'), **tested)
    cfg.data.read = [reader(cfg.data), *others]
    cfg.data.resize, cfg.data.files = cfg.data.size * 256 // 224, True
    return f'{spec}: {found}'


def reader(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step that reads images from files: that of the data, else ``LoadImage``."""
    known = ('LoadImage', 'LoadChannels')
    return next((dict(step) for step in data['read'] if kind_of(step) in known), dict(type='LoadImage'))


def use_data_root(cfg: Config, root: str) -> None:
    """Set the folder of the images (``data_root``); raises UserError if they lie in none."""
    if 'data_root' not in cfg.data.images:
        raise UserError(f'`data_root={root}`: no data set of this config reads a folder; leave the option out')
    cfg.data.images.data_root = root


def use_background(cfg: Config, colour: tuple[int, int, int]) -> None:
    """Show images with transparency on a colour (``background``)."""
    for step in cfg.data.read:
        if isinstance(step, dict) and kind_of(step) == 'LoadImage':
            step['background'] = tuple(colour)


def use_cache(cfg: Config, folder: str, gigabytes: float) -> None:
    """Keep reduced copies of large photos (``cache``); raises UserError if the folder cannot be written to."""
    folder = os.path.abspath(os.path.expanduser(folder))
    check_writable(folder, '`cache`')
    cfg.data.cache = dict(folder=folder, gigabytes=gigabytes)


def use_backbone(cfg: Config, name: str, image_size: int | None = None) -> None:
    """Replace the backbone (``backbone``), with images of another size if one is given; crops follow its patches.

    Optimiser and schedule stay, but AdamW spares what the new backbone spares.

    Raises:
        UserError: if there is no such backbone, or the method masks tokens of its own.
    """
    if kind_of(cfg.model) in ('MAE', 'SimMIM'):
        raise UserError(
            f'`backbone={name}`: {kind_of(cfg.model)} masks tokens of the backbone of its config; choose the size of '
            'that one, by model.backbone.arch, or another method'
        )
    old = cfg.model.backbone
    new = dict(backbone_config(name), **{key: old[key] for key in KEPT if key in old})
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
                mixer.update(dict(patch_size=of_old) if mixer['type'] == 'PatchMix' else dict(cell=2 * of_old))
    width = _width(built, name, cfg)
    if 'Adam' in cfg.optimizer.type and cfg.optimizer.get('spare', 'none') == 'none':
        cfg.optimizer.spare = 'flat'
    if (width, patch) != (feature_width(before, old.get('in_channels', 3)), of_old) and cfg.get('config_name'):
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


def use_image_size(cfg: Config, size: int) -> None:
    """Train and evaluate on images of another size in pixels (``image_size``).

    The largest view gets this size. All others, also of evaluations, change in proportion, to multiples of the patches.

    Raises:
        UserError: if the patches do not divide the size.
    """
    patch = patch_of(cfg.model.backbone) or 1
    if size < 1 or size % patch:
        near = max(round(size / patch), 1) * patch
        raise UserError(f'`image_size={size}` is no multiple of the patches of {patch} pixels; {near} is')
    scale_sizes(cfg, size / cfg.data.size, patch)


def scale_sizes(cfg: Config, scale: float, multiple: int) -> None:
    """Scale the sizes of images; those that a backbone sees become multiples of ``multiple``."""
    data, unit = cfg.data, multiple
    before, data.size = data.size, max(unit, round(data.size * scale / unit) * unit)
    if data.get('resize'):
        data.resize = max(1, round(data.resize * scale))
    for view in views_in(cfg):
        if view.get('size'):
            view['size'] = max(unit, round(view['size'] * scale / unit) * unit)
    for step in data.read:
        if isinstance(step, dict) and isinstance(step.get('scale'), int):
            step['scale'] = max(1, round(step['scale'] * data.size / before))


def views_in(cfg: Config) -> Iterator[dict]:
    """Yield what a recipe says about views, its own and those that suit the data."""
    for views in (cfg['views'], cfg.data.get('views') or {}):
        yield from (view for name, view in views.items() if isinstance(view, dict) and name not in NO_VIEWS[1:])
