"""Which recipe evaluates a backbone by a protocol on a data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mixcl.registry import MODELS


@dataclass(frozen=True)
class Recipe:
    """One row of :data:`TABLE`: a config under configs/evaluation/recipes/, what it is for, and what it changes there.

    What it is for are words; where there are none, it is for all.

    Attributes:
        config: path below configs/evaluation/recipes/, without the ending.
        names: methods or hosts that pretrained by it, and names that ``--recipe`` asks for; '*' stands for any method.
        backbone: as in names of configs: 'vit-s16'.
        family: of the backbone, as :func:`family_of` tells it.
        data: names of data sets, or of those that they are ``like``.
        rate: learning rate.
        batch: images per step, which that rate is for.
        epochs: of training; the steps of a schedule stay at the same shares of them.
        val_interval: epochs from one validation to the next.
        percent: of the labels that ``semi`` trains on.
        changes: other values of the config, by dotted names.
    """

    config: str
    names: str = '*'
    backbone: str = ''
    family: str = ''
    data: str = ''
    rate: float | None = None
    batch: int | None = None
    epochs: int | None = None
    val_interval: int | None = None
    percent: int = 10
    changes: Mapping[str, Any] = field(default_factory=dict)

    def is_for(self, names: set[str], backbone: str | None, family: str, data: set[str]) -> bool:
        """Whether it is for one of these names, a backbone, by its name and family, and a data set, by its names."""
        columns = ((self.names, names), (self.backbone, {backbone}), (self.family, {family}), (self.data, data))
        return all(not words or found & set(words.split()) for words, found in columns)


CIFAR = 'cifar10'  # and CIFAR-100, which is like it
IMAGENET = 'in1k in100'
RESNETS = 'resnet resnet-cifar'
R = Recipe

TABLE: dict[str, tuple[Recipe, ...]] = dict(
    knn=(R('knn/backbone'),),
    linear_fast=(R('linear_fast/sweep'),),
    few_labels=(R('few_labels/draws'),),
    quality=(R('quality/clusters'),),
    svm=(R('svm/grid', family=RESNETS), R('svm/output')),
    lowshot=(R('lowshot/grid', family=RESNETS), R('lowshot/output')),
    robustness=(R('robustness/classifier'),),
    linear=(
        R('linear/simsiam', 'simsiam bsim_simsiam wbsim_simsiam', 'r50', 'resnet', 'in1k'),
        R('linear/bsim', 'bsim wbsim', 'r50', 'resnet', 'in1k'),
        R('linear/mocov3_resnet', 'mocov3', 'r50', 'resnet', 'in1k'),
        R('linear/mocov3_resnet', '* mocov3', '', 'resnet-cifar', CIFAR, rate=0.1, batch=256),
        R('linear/moco', '* moco', '', RESNETS, IMAGENET),
        R('linear/moco', '* moco', '', RESNETS, 'digits', rate=3.0, batch=128, val_interval=10),
        R('linear/moco', '* moco', '', RESNETS, 'fashionmnist', rate=3.0, epochs=20, val_interval=5),
        R('linear/mixco', '* moco', '', 'resnet', CIFAR),
        R('linear/moco', '* moco', '', RESNETS, rate=3.0),
        R('linear/dino', 'dino', 'vit-s16', '', IMAGENET),
        R('linear/dino_average', 'dino', 'vit-b16', '', 'in1k'),
        R('linear/mocov3', 'mocov3', 'vit-s16', '', IMAGENET),
        R('linear/mocov3', 'mocov3', 'vit-b16', '', 'in1k'),
        R('linear/patchmix', 'patchmix', 'vit-b16', '', 'in1k', rate=0.04),
        R('linear/patchmix', '* patchmix', '', '', IMAGENET),
        R('linear/patchmix', '* patchmix', 'vit-t2', '', CIFAR, rate=0.05, batch=256),
        R('linear/patchmix', '* patchmix', 'vit-b2', '', CIFAR, rate=0.01, batch=256),
        R('linear/patchmix', '* patchmix', '', '', 'digits', rate=0.1, batch=128, val_interval=10),
        R('linear/patchmix', '* patchmix', '', '', 'fashionmnist', rate=0.2, batch=256, epochs=20, val_interval=5),
        R('linear/patchmix', '* patchmix', rate=0.02, batch=256),
    ),
    finetune=(
        R('finetune/resnet', '* resnet', '', RESNETS, 'digits', batch=128, epochs=30),
        R('finetune/resnet', '* resnet', '', RESNETS, 'fashionmnist', epochs=15),
        R('finetune/resnet', '* resnet', '', RESNETS),
        R('finetune/deit', 'sdmp dino deit', 'vit-s16', '', 'in1k'),
        # numbers of DeiT's 100 epochs do not stand beside it
        R('finetune/deit', 'mocov3', 'vit-s16 vit-b16', '', 'in1k', epochs=150, changes={'protocol.recipe': 'mocov3'}),
        # APS has published none for ImageNet: those of PatchMix and MAE
        R('finetune/patchmix', 'aps', 'vit-s16', '', 'in1k', changes={'protocol.encoder': 'online'}),
        R('finetune/mae', 'aps mae', 'vit-b16', '', 'in1k'),
        R('finetune/aps', 'aps', 'vit-t2', '', CIFAR, rate=5e-4),
        R('finetune/aps', 'aps', 'vit-s2', '', CIFAR),
        R('finetune/aps', 'aps', 'vit-b2', '', CIFAR, rate=1.25e-4),
        R('finetune/patchmix', '* patchmix', '', '', IMAGENET),
        R('finetune/patchmix', '* patchmix', 'vit-t2', '', CIFAR, rate=1e-3, batch=256),
        R('finetune/small', '* small', '', '', 'digits'),
        R('finetune/small', '* small', '', '', 'fashionmnist', batch=256, epochs=15),
        R('finetune/patchmix', '* patchmix', rate=5e-4, batch=256),
    ),
    semi=(
        # ImageNet-1K: SDMP's models, whose recipe is not published; ResNets as OpenSelfSup; the others are not papers'
        R('semi/resnet', '1percent', '', RESNETS, 'in1k', percent=1),
        R('semi/resnet', '1percent', '', RESNETS, 'in100', percent=1, epochs=100, val_interval=10),
        R('semi/resnet', '1percent', '', RESNETS, 'digits', percent=1, batch=8, epochs=100, val_interval=10),
        R('semi/resnet', '1percent', '', RESNETS, 'fashionmnist', percent=1, batch=64, epochs=100, val_interval=10),
        R('semi/resnet', '1percent', '', RESNETS, percent=1, batch=128, epochs=100, val_interval=10),
        R('finetune/deit', '1percent', '', '', 'in1k', percent=1, epochs=300, val_interval=10),
        R('finetune/patchmix', '1percent', '', '', 'in100', 5e-4, 256, percent=1, epochs=300, val_interval=10),
        R('finetune/small', '1percent', '', '', 'digits', percent=1, batch=8, epochs=100, val_interval=10),
        R('finetune/small', '1percent', '', '', 'fashionmnist', percent=1, batch=64, epochs=50, val_interval=5),
        R('finetune/patchmix', '1percent', '', '', '', 2.5e-4, 128, percent=1, epochs=300, val_interval=10),
        R('semi/resnet', '* 10percent', '', RESNETS, 'in1k'),
        R('semi/resnet', '* 10percent', '', RESNETS, 'digits', batch=32, epochs=100, val_interval=10),
        R('semi/resnet', '* 10percent', '', RESNETS, epochs=100, val_interval=10),
        R('finetune/deit', '* 10percent', '', '', 'in1k'),
        R('finetune/patchmix', '* 10percent', '', '', 'in100'),
        R('finetune/small', '* 10percent', '', '', 'digits', batch=32, epochs=100, val_interval=10),
        R('finetune/small', '* 10percent', '', '', 'fashionmnist', batch=256, epochs=15),
        R('finetune/patchmix', '* 10percent', rate=5e-4, batch=256),
    ),
    supervised=(
        R('supervised/resnet', '* resnet', 'r18', RESNETS, 'tinyimagenet', epochs=100),
        R('supervised/resnet', '* resnet', '', RESNETS),
        R('supervised/deit', '100e', '', '', IMAGENET, epochs=100),
        R('supervised/deit', '* deit', '', '', IMAGENET),
        R('supervised/aps', '* aps', 'vit-t2', '', CIFAR, rate=5e-4),
        R('supervised/aps', '* aps', 'vit-b2', '', CIFAR, rate=1.25e-4),
        R('supervised/aps', '* aps', '', '', CIFAR),
        R('supervised/small', '* small', '', '', 'digits'),
        R('supervised/small', '* small', '', '', 'fashionmnist', batch=256, epochs=30),
        R('supervised/deit', '* deit', rate=2.5e-4, batch=256),
    ),
)
"""The recipes of every protocol; the first that fits is taken."""

PROTOCOLS = tuple(TABLE)
"""Every protocol, by name."""

OWN_DATA = dict(
    svm=('voc07',),
    lowshot=('voc07',),
    robustness=('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c'),
)
"""Protocols that bring their own data, whatever data set is asked for."""


def data_of(protocol: str, data: str) -> tuple[str, ...]:
    """The data sets that a protocol evaluates on when ``data`` is asked for: all of its own, or one of several."""
    own = OWN_DATA.get(protocol, (data,))
    return own if len(own) == 1 or data == own[0] else (data,)


def family_of(backbone: Mapping | None) -> str:
    """'resnet-cifar' (with the stem for small images), 'resnet', or 'other' for all else.

    A ResNet with the stem for large images is evaluated on enlarged ones where those of the data set are small.
    """
    kind = None if backbone is None else MODELS.get(backbone['type'])
    # Here, since a command knows the protocols before it imports the models.
    from mmpretrain.models.backbones import ResNet, ResNet_CIFAR

    for name, base in (('resnet-cifar', ResNet_CIFAR), ('resnet', ResNet)):
        if isinstance(kind, type) and issubclass(kind, base):
            return name
    return 'other'


def parts_of_name(config_name: str | None) -> tuple[str | None, list[str]]:
    """The backbone in the name of a pretraining, ``<method>/<backbone>_<data>[_<variant>...]``, method and variants.

    For 'sdmp/vit-s16_in1k_mocov3' these are 'vit-s16' and ['sdmp', 'mocov3'].
    """
    method, slash, stem = (config_name or '').rpartition('/')
    if not slash:
        return None, []
    backbone, _, *variants = [*stem.split('_'), '']
    return backbone, [method, *filter(None, variants)]


def data_of_name(config_name: str) -> str:
    """The data set in the name of a pretraining: 'in1k' of 'sdmp/vit-s16_in1k_mocov3'."""
    return (*config_name.rpartition('/')[2].split('_'), '')[1]


def find_recipe(
    protocol: str, data: set[str], config_name: str | None, family: str, asked: str | None = None
) -> Recipe | None:
    """The recipe for a pretraining, whose name tells method, host and backbone; None if there is none.

    ``data`` has the names of the data set and of the one that it is like; ``asked`` is the name of ``--recipe``.
    """
    backbone, methods = parts_of_name(config_name)
    names = {asked} if asked else {'*', *methods}
    return next((row for row in TABLE[protocol] if row.is_for(names, backbone, family, data)), None)
