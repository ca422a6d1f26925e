"""The numbers that the papers print, to be shown beside ours.

``published.json`` beside this file holds every number of PatchMix, MixCo, SDMP, APS and BSIM on classification, linear
SVMs, robustness and detection. (Their memory and time are in configs/README.md.)
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import dotted, walk

FILE = Path(__file__).with_name('published.json')
RECIPE = ('model.', 'train_dataloader.dataset.')
"""What two runs of one recipe have in common, apart from where the data lie."""

PLACES = ('data_root', 'download')


@dataclass(frozen=True)
class Published:
    """One number of one paper.

    Attributes:
        method: as the paper calls it, with its host: 'BSIM on MoCo v2'; 'supervised' for training from scratch.
        backbone: as in names of configs: 'vit-s16', 'r50'.
        protocol: as ``protocol.name`` in recipes; 'detection' for COCO.
        data: what it was evaluated on, as in names of configs.
        metric: the name of the value: 'top1', 'svm_map', 'lowshot4_map', 'feat3_top1', 'box_AP'.
        value: in percent.
        source: paper and table: 'PatchMix, Table 2'.
        pretrained_on: the data of pretraining; None where there was none.
        epochs: of pretraining, or of training from scratch; None where the paper does not say.
        config: the config of ours that pretrains so, as ``config_name`` in checkpoints; None where there is none.
        settings: overrides of that config which make it the row's recipe, as ``--cfg-options`` takes them.
        condition: settings of the protocol that the number belongs to, as ``protocol`` in recipes has them: the recipe,
            ``{'recipe': 'deit'}``, wherever a protocol trains by several, or the subset of labels.
    """

    method: str
    backbone: str
    protocol: str
    data: str
    metric: str
    value: float
    source: str
    pretrained_on: str | None = None
    epochs: int | None = None
    config: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    condition: Mapping[str, Any] = field(default_factory=dict)


@functools.cache
def all_published() -> tuple[Published, ...]:
    """Every number, in the order of papers and tables."""
    return tuple(Published(**row) for row in json.loads(FILE.read_text(encoding='utf-8')))


def published_of_config(
    config: str | None, epochs: int | None, data: str, protocol: Mapping[str, Any]
) -> list[Published]:
    """Numbers of models that a config of ours pretrains for so many epochs.

    Args:
        config: for example ``'patchmix/vit-s16_in1k'``.
        epochs: of pretraining.
        data: what was evaluated on, for example ``'in1k'``.
        protocol: of the evaluation's config; a row's condition must hold for it.
    """
    wanted = (config, epochs, protocol['name'], data)
    rows = [row for row in all_published() if (row.config, row.epochs, row.protocol, row.data) == wanted and row.config]
    return [row for row in rows if all(protocol.get(name) == value for name, value in row.condition.items())]


def published_from_scratch(backbone: str | None, epochs: int, data: str) -> list[Published]:
    """Numbers of supervised training from scratch, for example ``('r18', 100, 'tinyimagenet')``."""
    wanted = ('supervised', backbone, epochs, data)
    return [row for row in all_published() if (row.protocol, row.backbone, row.epochs, row.data) == wanted]


def same_recipe(row: Published, trained: Config, configs: Path) -> bool:
    """Whether a run followed the recipe of a row: the row's config with the row's overrides, and no others.

    Compared are the model, the training images with their augmentation, and whatever else a row of the same config
    overrides. Other settings, such as batch size and learning rate, are the run's own affair.

    Args:
        row: with a ``config``.
        trained: the config that the run stored.
        configs: the folder of the configs.
    """
    expected = Config.fromfile(configs / f'{row.config}.py')
    expected.merge_from_dict(dict(row.settings))
    places = (*RECIPE, *(key for other in all_published() if other.config == row.config for key in other.settings))
    return _values(expected, places) == _values(trained, places)


def _values(cfg: Config, places: tuple[str, ...]) -> dict[str, Any]:
    """The values at places that begin so, without where the data lie."""
    values = {dotted(path): value for path, value in walk(cfg.to_dict()) if path and path[-1] not in PLACES}
    nodes = (Mapping, list, tuple)
    return {key: value for key, value in values.items() if key.startswith(places) and not isinstance(value, nodes)}
