"""Which config evaluates a backbone by a protocol on a data set."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mmpretrain.models.backbones import ResNet, ResNet_CIFAR

from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.registry import MODELS

PROTOCOLS = (
    'knn', 'linear_fast', 'linear', 'finetune', 'semi', 'supervised', 'svm', 'lowshot', 'robustness', 'quality',
)  # fmt: skip
"""Every protocol, by the name of its folder under configs/evaluation/."""

OWN_DATA = dict(
    svm=('voc07',),
    lowshot=('voc07',),
    robustness=('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c'),
)
"""Protocols that bring their own data, whatever data set is asked for."""

FAMILIES = {'resnet-cifar': ResNet_CIFAR, 'resnet': ResNet}
"""Families of backbones that the recipes for vision transformers (``any_...``) do not fit."""


def data_of(protocol: str, data: str) -> tuple[str, ...]:
    """The data sets that a protocol evaluates on when ``data`` is asked for.

    Raises:
        UserError: for robustness of anything but a classifier of ImageNet-1K.
    """
    own = OWN_DATA.get(protocol)
    if own is None or data in own[1:]:
        return (data,)
    if protocol == 'robustness' and data != 'in1k':
        raise UserError(
            f'robustness is that of a classifier of ImageNet-1K, so --data {data} has none; use --data in1k for all, '
            f'or one of {", ".join(own[1:])}'
        )
    return own


def families_of(backbone: Mapping | None) -> tuple[str, ...]:
    """The families of backbones with configs of their own that a backbone belongs to, the narrowest first.

    A ResNet with the stem for small images ('resnet-cifar') is tested at their size, other ResNets on enlarged images.

    Args:
        backbone: its config; None where unknown.
    """
    kind = None if backbone is None else MODELS.get(backbone['type'])
    if not isinstance(kind, type):
        return ()
    return tuple(name for name, base in FAMILIES.items() if issubclass(kind, base))


def find_config(
    configs: Path,
    protocol: str,
    data: str,
    config_name: str | None = None,
    recipe: str | None = None,
    families: Sequence[str] = (),
) -> Path:
    """Choose a config under ``configs/evaluation/<protocol>/``.

    With ``config_name='sdmp/vit-s16_in1k_mocov3'`` (the config of pretraining) and ``data='cifar10'`` the first that
    exists of ``vit-s16_cifar10_sdmp_mocov3`` (this method on this host), ``vit-s16_cifar10_sdmp`` (the method),
    ``vit-s16_cifar10_mocov3`` (the host), ``vit-s16_cifar10``, ``<family>_cifar10`` and ``any_cifar10``; with a recipe
    only ``vit-s16_cifar10_<recipe>``, ``<family>_cifar10_<recipe>`` and ``any_cifar10_<recipe>``. What bears the
    backbone's name is passed over if it is for a residual network with another stem, for that decides the size of the
    images.

    Args:
        configs: the folder of the configs.
        protocol: one of :data:`PROTOCOLS`.
        data: as in names of configs.
        config_name: of the pretraining; None where unknown.
        recipe: a variant that is asked for.
        families: of the backbone, as :func:`families_of` tells them.

    Raises:
        UserError: if there is none; it lists what exists.
    """
    found = _first(configs, protocol, data, config_name, recipe, families)
    if found is not None:
        return found
    folder = configs / 'evaluation' / protocol
    existing = sorted(path.stem for path in folder.glob('*.py'))
    wanted = f'{data}{f" with --recipe {recipe}" if recipe else ""}'
    raise UserError(
        f'there is no config for the protocol {protocol} on {wanted} under {folder}; there are '
        f'{", ".join(existing) or "none"}; choose another --data{" or --recipe" if recipe else ""}, or pass your own '
        'config by --config'
    )


def has_recipe(
    configs: Path, protocol: str, data: str, config_name: str | None, recipe: str, families: Sequence[str]
) -> bool:
    """Whether :func:`find_config` finds a config of a recipe; the arguments are the same."""
    return _first(configs, protocol, data, config_name, recipe, families) is not None


def _first(
    configs: Path, protocol: str, data: str, config_name: str | None, recipe: str | None, families: Sequence[str]
) -> Path | None:
    folder = configs / 'evaluation' / protocol
    paths = (folder / f'{name}.py' for name in _candidates(data, config_name, recipe, families))
    return next((path for path in paths if path.is_file() and _same_stem(path, families)), None)


def _same_stem(path: Path, families: Sequence[str]) -> bool:
    """Whether a config that bears the name of one backbone is for the stem that this one has."""
    if not families or path.stem.partition('_')[0] in (*families, 'any'):
        return True
    backbone = read_config(path).model.backbone
    meant = families_of(backbone.get('backbone', backbone))
    return not meant or meant == tuple(families)


def _candidates(data: str, config_name: str | None, recipe: str | None, families: Sequence[str]) -> Sequence[str]:
    method, backbone, variants = _parts(config_name)
    own = [] if backbone is None else [backbone]
    if recipe:
        return [f'{name}_{data}_{recipe}' for name in (*own, *families, 'any')]
    both = [f'{method}_{variant}' for variant in variants]
    special = [f'{name}_{data}_{variant}' for name in own for variant in (*both, method, *variants)]
    return special + [f'{name}_{data}' for name in (*own, *families, 'any')]


def _parts(config_name: str | None) -> tuple[str | None, str | None, list[str]]:
    """Method, backbone and variants in ``<method>/<backbone>_<data>[_<variant>...]``."""
    method, slash, stem = (config_name or '').rpartition('/')
    if not slash:
        return None, None, []
    backbone, _, *variants = [*stem.split('_'), '']
    return method, backbone, [name for name in variants if name]
