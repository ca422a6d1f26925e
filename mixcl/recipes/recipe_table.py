"""Choice of the recipe that evaluates a backbone by a protocol on a data set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mixcl.recipes.typed import check_keys
from mixcl.registry import MODELS

NUMBERS = dict(lr='optimizer.lr', batch='batch', epochs='schedule.epochs', every='measure.every')
"""Facts that a recipe's ``variants`` may change: the learning rate for 256 images, the images per step, etc."""


@dataclass(frozen=True)
class RecipeRow:
    """One row of :data:`TABLE`: a file under configs/evaluation/recipes/, and what it is for.

    Its purpose is given in words; an empty field stands for all. The numbers of the recipe are in the file.

    Attributes:
        config: path below configs/evaluation/recipes/, without the ending.
        names: methods or hosts of the pretraining, and names for ``--recipe``; '*' stands for any method.
        backbone: names as in configs: 'vit-s16'.
        family: families of backbones, see :func:`family_of`.
        data: names of data sets, or of those that they are ``like``.
        percent: percentage of the labels that ``semi`` trains on.
    """

    config: str
    names: str = '*'
    backbone: str = ''
    family: str = ''
    data: str = ''
    percent: int | None = None

    def is_for(self, names: set[str], backbone: str | None, family: str, data: set[str]) -> bool:
        """Whether the row is for one of these names, a backbone (by name and family) and a data set (by its names)."""
        columns = ((self.names, names), (self.backbone, {backbone}), (self.family, {family}), (self.data, data))
        return all(is_for_one(words, given) for words, given in columns)


def is_for_one(words: str, names: set) -> bool:
    """Whether one of the words is among the names; no words stand for all."""
    return not words or bool(names & set(words.split()))


CIFAR = 'cifar10'  # and CIFAR-100, which is like it
IMAGENET = 'in1k in100'
RESNETS = 'resnet resnet-cifar'
SMALL = 'digits fashionmnist'
R = RecipeRow

TABLE: dict[str, tuple[RecipeRow, ...]] = dict(
    knn=(R('knn/backbone'),),
    linear_fast=(R('linear_fast/sweep'),),
    few_labels=(R('few_labels/draws'),),
    quality=(R('quality/clusters'),),
    svm=(R('svm/grid', family=RESNETS), R('svm/output')),
    lowshot=(R('lowshot/grid', family=RESNETS), R('lowshot/output')),
    robustness=(R('robustness/classifier'),),
    segment=(R('segment/dinov2'),),
    linear=(
        R('linear/simsiam', 'simsiam bsim_simsiam wbsim_simsiam', 'r50', 'resnet', 'in1k'),
        R('linear/bsim', 'bsim wbsim', 'r50', 'resnet', 'in1k'),
        R('linear/swav', 'swav', 'r50', 'resnet', 'in1k'),
        R('linear/mocov3_resnet', 'mocov3', 'r50', 'resnet', 'in1k'),
        R('linear/mocov3_resnet', '* mocov3', '', 'resnet-cifar', CIFAR),
        R('linear/mixco', '* moco', '', 'resnet', CIFAR),
        R('linear/moco', '* moco', '', RESNETS),
        R('linear/dino', 'dino ibot', 'vit-s16', '', IMAGENET),
        R('linear/dino_average', 'dino ibot', 'vit-b16', '', 'in1k'),
        R('linear/mocov3', 'mocov3', 'vit-s16', '', IMAGENET),
        R('linear/mocov3', 'mocov3', 'vit-b16', '', 'in1k'),
        R('linear/patchmix_vit-b16', 'patchmix', 'vit-b16', '', 'in1k'),
        R('linear/patchmix', '* patchmix'),
    ),
    finetune=(
        R('finetune/resnet', '* resnet', '', RESNETS),
        R('finetune/deit', 'sdmp dino ibot deit', 'vit-s16', '', 'in1k'),
        R('finetune/mocov3', 'mocov3', 'vit-s16 vit-b16', '', 'in1k'),
        # APS has published no recipe for ImageNet: those of PatchMix and MAE
        R('finetune/patchmix_online', 'aps', 'vit-s16', '', 'in1k'),
        R('finetune/mae', 'aps mae', 'vit-b16', '', 'in1k'),
        R('finetune/mae', 'mae', 'vit-s16', '', 'in1k'),
        R('finetune/simmim', 'simmim', 'vit-b16', '', 'in1k'),
        R('finetune/aps', 'aps', 'vit-t2 vit-s2 vit-b2', '', CIFAR),
        R('finetune/small', '* small', '', '', SMALL),
        R('finetune/patchmix', '* patchmix'),
    ),
    semi=(
        # ImageNet-1K: SDMP's models, whose recipe is not published; ResNets as OpenSelfSup; the rest is from no paper
        R('semi/resnet', '1percent', '', RESNETS, percent=1),
        R('finetune/deit', '1percent', '', '', 'in1k', percent=1),
        R('finetune/small', '1percent', '', '', SMALL, percent=1),
        R('finetune/patchmix', '1percent', percent=1),
        R('semi/resnet', '* 10percent', '', RESNETS, percent=10),
        R('finetune/deit', '* 10percent', '', '', 'in1k', percent=10),
        R('finetune/small', '* 10percent', '', '', SMALL, percent=10),
        R('finetune/patchmix', '* 10percent', percent=10),
    ),
    supervised=(
        R('supervised/resnet', '* resnet', '', RESNETS),
        R('supervised/deit_100e', '100e', '', '', IMAGENET),
        R('supervised/aps', '* aps', '', '', CIFAR),
        R('supervised/small', '* small', '', '', SMALL),
        R('supervised/deit', '* deit'),
    ),
)
"""Recipes of each protocol; the first row that fits is taken."""

PROTOCOLS = tuple(TABLE)
"""Names of all protocols."""

OWN_DATA = dict(
    svm=('voc07',),
    lowshot=('voc07',),
    segment=('voc12',),
    robustness=('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c'),
)
"""Protocols that bring their own data, whatever data set is asked for."""


def data_of(protocol: str, data: str) -> tuple[str, ...]:
    """Return the data sets of a protocol when ``data`` is asked for: ``data``, all of its own, or one of several.

    People may have masks of their own images.
    """
    own = (data,) if protocol == 'segment' and ':' in data else OWN_DATA.get(protocol, (data,))
    return own if len(own) == 1 or data == own[0] else (data,)


def family_of(backbone: Mapping | None) -> str:
    """Return 'resnet-cifar' (with the stem for small images), 'resnet', or 'other' for all else.

    Protocols that train enlarge images of small data sets for a ResNet with the stem for large ones.
    """
    kind = None if backbone is None else MODELS.get(backbone['type'])
    # Imported here, since a command knows the protocols before it imports the models.
    from mmpretrain.models.backbones import ResNet, ResNet_CIFAR

    if isinstance(kind, type) and issubclass(kind, ResNet):
        return 'resnet-cifar' if issubclass(kind, ResNet_CIFAR) else 'resnet'
    return 'other'


def parts_of_name(config_name: str | None) -> tuple[str | None, list[str]]:
    """Split a pretraining's name, ``<method>/<backbone>_<data>[_<variant>...]``, into backbone, and method + variants.

    For 'sdmp/vit-s16_in1k_mocov3' these are 'vit-s16' and ['sdmp', 'mocov3'].
    """
    method, slash, stem = (config_name or '').rpartition('/')
    if not slash:
        return None, []
    backbone, _, *variants = [*stem.split('_'), '']
    return backbone, [method, *filter(None, variants)]


def data_of_name(config_name: str) -> str:
    """Return the data set in the name of a pretraining: 'in1k' of 'sdmp/vit-s16_in1k_mocov3'."""
    return (*config_name.rpartition('/')[2].split('_'), '')[1]


def find_recipe(
    protocol: str, data: set[str], config_name: str | None, family: str, recipe_name: str | None = None
) -> RecipeRow | None:
    """Find the recipe for a pretraining, whose name tells method, host and backbone; None if there is none.

    ``data`` has the names of the data set and of the one that it is ``like``; ``recipe_name`` is that of ``--recipe``.
    """
    backbone, methods = parts_of_name(config_name)
    names = {recipe_name} if recipe_name else {'*', *methods}
    return next((row for row in TABLE[protocol] if row.is_for(names, backbone, family, data)), None)


def variant_of(recipe: Mapping, data: set[str], config_name: str | None, percent: int | None) -> dict[str, Any]:
    """Return a recipe's changes for a backbone, data set and share of labels: the first of its ``variants`` that fits.

    A variant's ``backbone``, ``data`` and ``percent`` say what it is for, like those of a :class:`RecipeRow`.
    """
    backbone = parts_of_name(config_name)[0]
    for variant in recipe.get('variants') or []:
        numbers = dict(variant)
        check_keys(numbers, ('backbone', 'data', 'percent', *NUMBERS), 'variants')
        of, images, share = (numbers.pop(name, None) for name in ('backbone', 'data', 'percent'))
        if is_for_one(of or '', {backbone}) and is_for_one(images or '', data) and share in (None, percent):
            return numbers
    return {}
