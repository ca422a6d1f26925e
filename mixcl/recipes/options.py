"""Options of a run as changes of the facts of its recipe, in place; see :class:`mixcl.recipes.prepared.Options`."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.files import check_writable
from mixcl.recipes.facts import FACTS, Data
from mixcl.recipes.making import refuse_facts_in_sections
from mixcl.recipes.overrides import merge
from mixcl.recipes.own_data import reader, source_config, survey
from mixcl.recipes.paths import RUNNER_KEYS, dotted, kind_of, walk
from mixcl.recipes.pipelines import NO_VIEWS
from mixcl.recipes.reading import use_data_set
from mixcl.recipes.sections import patch_of
from mixcl.recipes.typed import suggested, with_defaults
from mixcl.registry import DATASETS, build


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
    overrides = dict(overrides)
    if isinstance(overrides.get('data'), str):  # before what is said about the data one by one
        use_data_set(cfg, overrides.pop('data'))
    merge(cfg, overrides)
    if not isinstance(cfg.get('data'), Mapping):
        raise UserError(f'data={cfg.get("data")!r} must be a dict, or the name of a data set')
    cfg.data = ConfigDict(with_defaults(Data, cfg.data))
    of_data = cfg.data.get('views') or {} if isinstance(cfg.get('data'), Mapping) else {}
    for key in _by_setting(overrides):
        _, view, setting, *_ = *key.split('.'), None
        for holder in (each for each in of_data if view == 'all' or each in ('all', view)):
            if setting in of_data[holder]:
                place = f'data.views.{holder}.{setting}'
                raise UserError(f'`cfg_options` {key} has no effect: {place}, for these images, wins')


def _by_setting(overrides: Mapping[str, Any]) -> list[str]:
    """List the dotted names of overrides of views, also where a whole view is given as a dict."""
    nested = Config()
    merge(nested, {key: value for key, value in overrides.items() if key.startswith('views.')})
    return [dotted(path) for path, value in walk(nested.to_dict()) if not isinstance(value, Mapping)]


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
    # One by one: ConfigDict.update would merge them.
    cfg.data.images = ConfigDict(images)
    cfg.data.splits = ConfigDict(train=dict(split='pretrain'), **tested)
    own = reader(cfg.data.read)
    others = [step for step in cfg.data.read if step != own] if own in cfg.data.read else []
    cfg.data.read = [own, *others]  # the steps of images that are no files, such as digits, suit these alone
    cfg.data.resize, cfg.data.files = cfg.data.size * 256 // 224, True
    return f'{spec}: {found}'


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


def use_image_size(cfg: Config, size: int) -> None:
    """Train and evaluate on images of another size in pixels (``image_size``).

    The largest view gets this size. All others, also of evaluations, change in proportion, to multiples of the patches.

    Raises:
        UserError: if the patches do not divide the size.
    """
    patch = patch_of(cfg.model.backbone) or 1
    cfg.model.backbone.pop('img_size', None)  # follows
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
