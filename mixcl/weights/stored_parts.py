"""What a config that came with a file may bring into what is built: plain values for classes that reach nowhere."""

import copy
import re
from collections.abc import Mapping
from contextlib import suppress
from reprlib import repr as shortened
from typing import Any

import mmpretrain.registry  # noqa: F401  (adds its registries to mmengine's)
import torch
from mmengine.config import Config
from mmengine.registry import Registry
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.registry import DATASETS, LOSSES, MIXERS, MODELS, NEGATIVES, SHARES, TARGET_ENCODERS, TRANSFORMS, build
from mixcl.weights.checkpoint import is_trusted

LIBRARIES = re.compile(r'(functools|mixcl|mmcv|mmdet|mmengine|mmpretrain|timm|torch|torchvision|transformers)\b')
"""Libraries that register more than anyone asked for. What else is registered, the user's own config has imported."""

HARMLESS = re.compile(
    r'mixcl\.|torch\.nn\.|mmengine\.model\.|mmcv\.(cnn|transforms)\.'
    r'|mmpretrain\.datasets\.transforms\.'
    r'|mmpretrain\.models\.(backbones|necks|losses|selfsup\.(mae|mocov3|simmim))'
    r'|mmpretrain\.models\.(classifiers\.image|utils\.(attention|norm|data_prep))'
    r'|mmpretrain\.models\.heads\.(cls|conformer|deit|efficientformer|levit|linear)'
    r'|mmpretrain\.models\.heads\.(mae|margin|multi|simmim|stacked|vision_tran)'
)
"""Their modules whose classes open no file or address that a word names. Others do: ``VQAGenerationHead`` unpickles its
``answer_list_path``, ``LAD`` runs its ``teacher_config``, Hugging Face's take ``trust_remote_code``."""

NAMING = frozenset({'type', 'resize_type', 'conv_type', 'norm_layer'})
"""Keys whose values are looked up in a registry, and imported where that does not have them."""

LEFT_OUT = frozenset({'init_cfg', 'pretrained', 'checkpoint_path', 'train_cfg', 'batch_augments'})
"""Arguments that say where first weights come from, and how to train: not asked for where weights are evaluated."""

REACHING = frozenset({'backend_args', 'file_client_args'})
"""Arguments that choose how files are opened; one of mmengine's ways imports a module from a folder of choice."""

BUILDERS: dict[Any, Registry] = dict(
    mixer=MIXERS, share=SHARES, objective=LOSSES, target=TARGET_ENCODERS, terms=NEGATIVES, dataset=DATASETS,
    pipeline=TRANSFORMS,
)  # fmt: skip
"""By keys whose values another registry builds than what they stand in."""

PLACES = ('data_root', 'source')
"""Where the images of a data set lie. They are only read, but for those of Hugging Face, which may have code."""

LARGEST = 100_000
"""Bound of numbers, which are counts of layers, channels, pixels or classes."""

WORD = re.compile(r'[\w+-]*')
"""A string that is no address, no file, no dotted name, and nothing that a config file fills in or runs."""


def checked_part(part: Any, registry: Registry, source: str, place: str) -> Any:
    """Check a part of a config that is not the user's own, before anything of it is looked up, imported or built.

    It may hold numbers up to :data:`LARGEST`, words, lists and dicts; a ``type`` must be in the registry that will
    build the part, where classes are safe to build from anywhere. Once pickle is allowed, it is returned as it is.

    Returns:
        A copy without :data:`LEFT_OUT`.

    Raises:
        UserError: if there is anything else in it; it names the file (``source``) and the ``place`` in its config.
    """
    if is_trusted():
        return part
    match part:
        case Mapping():
            kept = {key: value for key, value in part.items() if key not in LEFT_OUT}
            opened = registry is DATASETS and 'HuggingFace' not in str(part.get('type'))
            read = {key: kept.pop(key) for key in PLACES if opened and isinstance(kept.get(key), str)}
            checked = {key: _checked_value(key, value, registry, source, place) for key, value in kept.items()}
            return checked | read
        case list() | tuple():
            return type(part)(checked_part(one, registry, source, f'{place}[{i}]') for i, one in enumerate(part))
        case int() | float() if not abs(part) <= LARGEST:
            raise _refusal(source, place, part, f'which is above {LARGEST:,}')
        case int() | float() | None:
            return part
        case str() if WORD.fullmatch(part):
            return part
    raise _refusal(source, place, part, 'which is no plain value')


def checked_run(config: Mapping[str, Any], source: str) -> Config:
    """The model and the images of a config that came with a file, as plain as :func:`checked_part` wants them.

    Raises:
        UserError: if it has other parts than any file may have.
    """
    parts = {name: config[name] for name in ('model', 'data_preprocessor') if config.get(name)}
    for name in ('train_dataloader', 'val_dataloader', 'test_dataloader'):
        if dataset := (config.get(name) or {}).get('dataset'):
            parts[name] = dict(dataset=dataset)
    checked = {name: checked_part(part, MODELS, source, name) for name, part in parts.items()}
    return Config(dict(checked, default_scope='mixcl', config_name=config.get('config_name')))


def check_size(model: Mapping[str, Any], weights: Mapping[str, Tensor], source: str) -> None:
    """Refuse the config of a model that is much larger than the weights that it came with, before it takes memory.

    Raises:
        UserError: if it has more than twice as many tensors, or numbers in them, and some.
    """
    if is_trusted():
        return
    most, numbers = 2 * len(weights) + 1000, 2 * sum(value.numel() for value in weights.values()) + 10**8
    built: list[int] = []

    def count(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        built.append(0 if parameter is None else parameter.numel())
        if len(built) > most or sum(built) > numbers:
            raise MemoryError

    hook = register_module_parameter_registration_hook(count)
    try:
        for device in ('meta', 'cpu'):  # some cannot be built without memory
            with suppress(Exception), undisturbed_generators(), torch.device(device):
                built.clear()
                build(MODELS, copy.deepcopy(model))
                return
            if len(built) > most or sum(built) > numbers:
                raise UserError(
                    f'the config in {source} asks for a model of at least {len(built):,} tensors and {sum(built):,} '
                    f'numbers, far more than the file holds; name the config that it was trained with (config)'
                )
    finally:
        hook.remove()


def _checked_value(key: Any, value: Any, registry: Registry, source: str, place: str) -> Any:
    # Python reads other letters that look the same as these, so that a name would become another one.
    if not isinstance(key, int) and not (isinstance(key, str) and key.isidentifier() and key.isascii()):
        raise _refusal(source, f'{place}.keys', key, 'which is no name')
    place = f'{place}.{key}'
    if key in NAMING:
        if not _is_harmless(value, registry, place):
            raise _refusal(source, place, value, 'which is no class that any file may name')
        return value
    if (key in REACHING and value) or (key == '_scope_' and value not in ('mixcl', 'mmengine', 'mmpretrain')):
        raise _refusal(source, place, value, 'which may open or import anything')
    if key in ('model_name', 'name') and isinstance(value, str) and WORD.fullmatch(value.replace('.', '')):
        return value  # timm's names have dots
    return checked_part(value, BUILDERS.get(key, registry), source, place)


def _is_harmless(name: Any, registry: Registry, place: str) -> bool:
    """Whether a name is registered, looked up as mmengine does but without its imports, for a class that is safe."""
    if not isinstance(name, str):
        return False
    scope, _, rest = name.rpartition('.')
    # mmpretrain asks its own registry for normalisation layers.
    scope = scope or ('mmpretrain' if place.endswith('norm_cfg.type') else registry.scope)
    asked = registry.root._search_child(scope)
    while asked is not None:
        asked.import_from_location()
        if rest in asked.module_dict:
            module = str(getattr(asked.module_dict[rest], '__module__', 'functools'))
            return not LIBRARIES.match(module) or HARMLESS.match(module) is not None
        asked = asked.parent
    return False


def _refusal(source: str, place: str, value: Any, reason: str) -> UserError:
    return UserError(
        f'the config in {source} has {place}={shortened(value)}, {reason}; name the file of that config, '
        'which may, by `config=FILE`'
    )
