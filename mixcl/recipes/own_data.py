"""The images that a recipe reads: the user's own, from which root, on which background, and cached or not."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.datasets.own_images import Survey
from mixcl.errors import UserError
from mixcl.files import check_writable
from mixcl.recipes.paths import innermost, kind_of
from mixcl.recipes.reading import is_data_set, use_data_set
from mixcl.registry import DATASETS, build

KINDS = dict(folder='FolderImages', list='ListedImages', hf='HuggingFaceImages', tar='TarImages')
FORMS = 'folder:PATH, list:PATH.csv (or .txt), hf:PATH or tar:PATTERN'


def source_config(
    spec: str, data_root: str | None = None, like: Mapping[str, Any] | None = None, labels: bool = True
) -> dict[str, Any]:
    """Return the config of the data set that ``--data`` asks for, such as 'folder:photos', without split and pipeline.

    The paths of a list are relative to ``data_root``, by default the list's folder. The images of a folder
    are the files with the extensions that the config ``like`` trains on, if it names any. Without ``labels``, those of
    the source are ignored; so they are if ``like`` ignores those of the same source.

    Raises:
        UserError: if ``spec`` is none of :data:`FORMS`, or ``data_root`` is not for a list.
    """
    kind, _, place = spec.partition(':')
    if kind not in KINDS or not place:
        raise UserError(f'`data={spec}` is none of {FORMS}{suggested_source(spec)}')
    if kind == 'folder' and os.path.isfile(place):
        raise UserError(f'`data={spec}`{suggested_source(place)}')
    if data_root and kind != 'list':
        raise UserError(
            f'`data_root={data_root}`: with `data`, only a list has a root that its paths are relative to; leave it out'
        )
    settings: dict[str, Any] = dict(data_root=data_root or '') if kind == 'list' else {}
    trained, source = _trained_on(like or {}), os.path.abspath(os.path.expanduser(place))
    settings |= {name: trained[name] for name in ('extensions',) if kind == 'folder' and name in trained}
    labels = labels and (trained.get('source') != source or trained.get('labels', True))
    settings |= {} if labels else dict(labels=False)
    return dict(type=f'mixcl.{KINDS[kind]}', source=source, **settings)


def suggested_source(path: str) -> str:
    """Return the end of a message: which images someone may have meant by a folder or a file."""
    if os.path.isdir(path):
        return f'; did you mean folder:{path}?'
    kind = dict(csv='list', txt='list', tar='tar').get(path.rpartition('.')[2])
    place = path if kind else os.path.dirname(path) or '.'
    return f'; {path} is a file, did you mean {kind or "folder"}:{place}?' if os.path.isfile(path) else ''


def survey(images: Mapping[str, Any]) -> Survey:
    """Count what a config of :func:`source_config` finds; raises UserError if images cannot be read."""
    return build(DATASETS, {**images, 'lazy_init': True}).survey()


def reader_of(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step that reads images from files for a config: that of its training images, else ``LoadImage``."""
    return reader(_trained_on(cfg).get('pipeline') or [])


def reader(steps: Sequence) -> dict[str, Any]:
    """Return the step among others that reads images from files, else ``LoadImage``."""
    own = (dict(step) for step in steps if kind_of(step) in ('LoadImage', 'LoadChannels'))
    return next(own, dict(type='LoadImage'))


def _trained_on(cfg: Mapping[str, Any]) -> Mapping[str, Any]:
    return innermost((cfg.get('train_dataloader') or {}).get('dataset') or {})


def use_data(cfg: Config, spec: str, data_root: str | None, labels: bool) -> str:
    """Make a recipe train on other images, in place; its views stay. With labels, kNN is measured.

    Pretraining sees no labels. kNN votes among the labelled images of the training part and tests the others. A data
    set that has a file (:func:`~mixcl.recipes.reading.is_data_set`) brings views and measures of its own. Returns
    a sentence that says what was found, if it had to be looked for; raises UserError if the images cannot be read.
    """
    if is_data_set(spec):
        use_data_set(cfg, spec)
        if data_root:
            use_data_root(cfg, data_root)
        if not labels:
            cfg.data.splits = ConfigDict(train=cfg.data.splits.get('train', {}))
        return ''
    images = source_config(spec, data_root, dict(train_dataloader=dict(dataset=cfg.data.images)), labels)
    counts = survey(images)
    tested = dict(bank=dict(split='train'), test=dict(split='test')) if counts.classes else {}
    # One by one: ConfigDict.update would merge them.
    cfg.data.images = ConfigDict(images)
    cfg.data.splits = ConfigDict(train=dict(split='pretrain'), **tested)
    own_reader = reader(cfg.data.read)
    others = [step for step in cfg.data.read if step != own_reader] if own_reader in cfg.data.read else []
    cfg.data.read = [own_reader, *others]  # the steps of images that are no files, such as digits, suit these alone
    cfg.data.resize, cfg.data.files = cfg.data.size * 256 // 224, True
    return f'{spec}: {counts}'


def use_data_root(cfg: Config, root: str) -> None:
    """Set the folder of the images of a recipe, in place; raises UserError if they lie in none."""
    if 'data_root' not in cfg.data.images:
        raise UserError(f'`data_root={root}`: no data set of this config reads a folder; leave the option out')
    cfg.data.images.data_root = root


def use_background(cfg: Config, colour: tuple[int, int, int]) -> None:
    """Show images with transparency on a colour, in place."""
    for step in cfg.data.read:
        if isinstance(step, dict) and kind_of(step) == 'LoadImage':
            step['background'] = tuple(colour)


def use_cache(cfg: Config, folder: str, gigabytes: float) -> None:
    """Keep reduced copies of large photos, in place; raises UserError if the folder cannot be written to."""
    folder = os.path.abspath(os.path.expanduser(folder))
    check_writable(folder, '`cache`')
    cfg.data.cache = dict(folder=folder, gigabytes=gigabytes)
