"""Putting a backbone into the config of an evaluation."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.registry import DefaultScope
from mmpretrain.models import ResNet

from mixcl.configuration.paths import walk
from mixcl.configuration.signature import accepted_keywords
from mixcl.engine.runners.dry_run import told_as_user_error
from mixcl.errors import UserError
from mixcl.evaluation.models import FrozenEncoder, FrozenFeatures
from mixcl.registry import MODELS
from mixcl.weights import load_backbone
from mixcl.weights.pretrained import PretrainedBackbone

OF_THE_RUN = frozenset({'drop_path_rate', 'frozen_stages', 'frozen_patch_embed', 'fixed_position', 'init_cfg'})
"""Settings of a backbone that belong to how it is trained: those of the evaluation count, not those of pretraining."""

OF_THE_START = frozenset({'frozen_patch_embed', 'fixed_position'})
"""Those that also decide its first weights, which are what counts where it is not trained."""

BATCH_NORMS = ('BN', 'SyncBN', 'mixcl.SyncBatchNorm')
"""Kinds of batch normalisation: one function of images and weights, trained with statistics of one or all processes."""


def adapt(cfg: Config, backbone: Mapping, source: Config | None, pretrained: PretrainedBackbone | None) -> None:
    """Make an evaluation's config evaluate another backbone, in place, and check that the weights fit.

    Replaced are the backbone, what the images are normalised by (unless the protocol has a ``normalisation`` of its
    own), and the number of channels that the head expects. Batch normalisation stays of the evaluation's kind.

    Args:
        cfg: of a classifier or a ``FrozenEncoder``.
        backbone: config of the backbone.
        source: the config that it comes from; None where unknown.
        pretrained: its weights; None where it stays untrained.

    Raises:
        UserError: if the weights do not fit, or the evaluation cannot take such a backbone.
    """
    _set_backbone(cfg, backbone)
    if source is not None and 'normalisation' not in (cfg.get('protocol') or {}):
        _set_normalisation(cfg, source)
    with DefaultScope.overwrite_default_scope('mixcl'):
        features = _features(cfg)
    if pretrained is not None:
        load_backbone(features, pretrained)
    _set_head(cfg, _channels(features, image_size(cfg)))


def image_size(cfg: Config) -> int:
    """The side of the evaluated images in pixels.

    That is the last crop or resize of their pipeline. CIFAR is tested as it is, so that only the backbone or the crops
    it is trained on tell; 224 where nothing does.
    """
    tested = _last_size(cfg.get('test_dataloader') or cfg.get('val_dataloader'))
    return tested or _holder(cfg)['backbone'].get('img_size') or _last_size(cfg.get('train_dataloader')) or 224


def _last_size(loader: Mapping | None) -> int | None:
    pipelines = [node['pipeline'] for _, node in walk(loader or {}) if isinstance(node, Mapping) and 'pipeline' in node]
    sizes = [step.get('crop_size') or step.get('scale') for step in (pipelines[-1] if pipelines else [])]
    size = next((size for size in reversed(sizes) if size), None)
    return size if isinstance(size, int | None) else size[0]


def _set_backbone(cfg: Config, backbone: Mapping) -> None:
    holder = _holder(cfg)
    own, size = holder['backbone'], image_size(cfg)
    kind = MODELS.get(backbone['type'])
    accepted = accepted_keywords(kind)
    of_the_run = OF_THE_RUN - OF_THE_START if _is_frozen(holder) else OF_THE_RUN
    new = {key: value for key, value in backbone.items() if key not in of_the_run}
    new |= {key: own[key] for key in of_the_run & own.keys() & accepted.names}
    if 'img_size' in new:
        new['img_size'] = size
    if isinstance(kind, type) and issubclass(kind, ResNet):
        _set_batch_norm(new, own)
    holder['backbone'] = ConfigDict(new)


def _set_batch_norm(new: dict, own: Mapping) -> None:
    """Let a residual network have the evaluation's kind of batch normalisation, with settings of its own."""
    norm, kind = new.get('norm_cfg') or dict(type='BN'), (own.get('norm_cfg') or {}).get('type')
    if norm['type'] in BATCH_NORMS and kind in BATCH_NORMS:
        new['norm_cfg'] = {**norm, 'type': kind}


def _holder(cfg: Config) -> ConfigDict:
    """The part of the model with the backbone itself: the model, or ``FrozenFeatures`` in it."""
    holder = cfg.model
    while 'backbone' in holder['backbone']:
        holder = holder['backbone']
    return holder


def _is_frozen(holder: Mapping) -> bool:
    kind = MODELS.get(holder['type'])
    return isinstance(kind, type) and issubclass(kind, FrozenFeatures | FrozenEncoder)


def _set_normalisation(cfg: Config, source: Config) -> None:
    given = next(_preprocessors(source), {})
    for preprocessor in _preprocessors(cfg):
        preprocessor.update({key: given[key] for key in ('mean', 'std') if key in given})


def _preprocessors(cfg: Config) -> Iterator[Any]:
    for section in (cfg.get('model') or {}, cfg):
        if section.get('data_preprocessor'):
            yield section['data_preprocessor']


def _features(cfg: Config) -> FrozenFeatures:
    """The features that the evaluation takes, or the output of a backbone that it trains."""
    holder = _holder(cfg)
    with told_as_user_error(f'the backbone {holder["backbone"]["type"]}'):
        return FrozenFeatures(holder['backbone'], holder.get('feature'))


def _channels(features: FrozenFeatures, size: int) -> tuple[int, ...]:
    try:
        return features.channels(size)
    except (AssertionError, RuntimeError) as error:
        raise UserError(
            f'a {type(features.backbone).__name__} cannot encode images of {size} pixels, which this evaluation has '
            f'({" ".join(str(error).split())}): choose data of its own size, or for a model of timm set '
            'dynamic_img_size=True in a --backbone-config'
        ) from error


def _set_head(cfg: Config, channels: tuple[int, ...]) -> None:
    head = cfg.model.get('head') or {}
    expected = head.get('in_channels')
    if isinstance(expected, int) and len(channels) == 1:
        head['in_channels'] = channels[0]
    elif expected is not None and tuple(expected if isinstance(expected, (list, tuple)) else (expected,)) != channels:
        raise UserError(
            f'this evaluation puts its heads on features of {expected} values, but the backbone gives '
            f'{channels}: choose another --recipe or --config for it'
        )
