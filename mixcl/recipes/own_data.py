"""The user's own images in place of those that a config names (``--data``)."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.datasets.own_images import Survey
from mixcl.errors import UserError
from mixcl.recipes.paths import innermost, kind_of
from mixcl.recipes.pipelines import READERS
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


def train_on(cfg: Config, spec: str, data_root: str | None = None) -> None:
    """Put other images in place of those that a config trains on, in place; their views stay."""
    own = innermost(cfg.train_dataloader.dataset)
    others = [step for step in own.pipeline if kind_of(step) not in READERS]
    images = source_config(spec, data_root, cfg)
    dataset = dict(images, split='pretrain', pipeline=[reader_of(cfg), *others])
    views = cfg.train_dataloader.dataset.get('views', 'pillow')
    cfg.train_dataloader.dataset = ConfigDict(type='mixcl.KeyedDataset', views=views, dataset=dataset)


def reader_of(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step that reads images from files for a config: that of its training images, else ``LoadImage``."""
    return reader(_trained_on(cfg).get('pipeline') or [])


def reader(steps: Sequence) -> dict[str, Any]:
    """Return the step among others that reads images from files, else ``LoadImage``."""
    return next(
        (dict(step) for step in steps if kind_of(step) in ('LoadImage', 'LoadChannels')), dict(type='LoadImage')
    )


def _trained_on(cfg: Mapping[str, Any]) -> Mapping[str, Any]:
    return innermost((cfg.get('train_dataloader') or {}).get('dataset') or {})
