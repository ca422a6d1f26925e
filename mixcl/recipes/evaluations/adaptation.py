"""Putting a backbone, or a whole classifier, into the config of an evaluation."""

import copy
from collections.abc import Mapping

from mmengine.config import Config, ConfigDict
from mmpretrain.models import ResNet

from mixcl.errors import UserError, as_user_error
from mixcl.recipes.own_data import reader_of, use_background
from mixcl.recipes.paths import holder_of_backbone, preprocessors_of, walk
from mixcl.recipes.sizes import output_size, set_model_size
from mixcl.recipes.subject import Subject
from mixcl.registry import MODELS, build, keywords_of
from mixcl.weights import Encoder, load_backbone
from mixcl.weights.pretrained import PretrainedBackbone

TRAINING_SETTINGS = frozenset(
    {'drop_path_rate', 'frozen_blocks', 'frozen_stages', 'frozen_patch_embed', 'fixed_position', 'init_cfg', 'lora'}
)
"""Settings of a backbone that say how it is trained: those of the recipe count, not those of pretraining."""

INITIALISATION_SETTINGS = frozenset({'frozen_patch_embed', 'fixed_position', 'lora'})
"""The :data:`TRAINING_SETTINGS` that also decide initial weights: for a frozen backbone, those of pretraining count."""

BATCH_NORMS = ('BN', 'SyncBN', 'mixcl.SyncBatchNorm')
"""Kinds of batch normalisation: the same in evaluation, but trained with statistics of one or of all processes."""


def put_backbone(cfg: Config, backbone: Mapping, source: Config | None) -> None:
    """Put a backbone into the config of an evaluation, in place; nothing is built.

    Sets the backbone (sized for the evaluated images, trained as the recipe says), the background of images with
    transparency, and their mean and std, unless the protocol has a ``normalisation`` of its own.
    """
    keep_background(cfg, source)
    holder = holder_of_backbone(cfg.model)
    own, kind, frozen = holder['backbone'], MODELS.get(backbone['type']), MODELS.get(holder['type'])
    is_frozen = isinstance(frozen, type) and issubclass(frozen, Encoder)
    replaced = TRAINING_SETTINGS - INITIALISATION_SETTINGS if is_frozen else TRAINING_SETTINGS
    new = {key: copy.deepcopy(value) for key, value in backbone.items() if key not in replaced}
    new |= {key: own[key] for key in replaced & own.keys() & keywords_of(kind).keys()}
    set_model_size(new, image_size(cfg))
    if isinstance(kind, type) and issubclass(kind, ResNet):
        norm, wanted = new.get('norm_cfg') or dict(type='BN'), (own.get('norm_cfg') or {}).get('type')
        if norm['type'] in BATCH_NORMS and wanted in BATCH_NORMS:
            new['norm_cfg'] = {**norm, 'type': wanted}
    holder['backbone'] = ConfigDict(new)
    if source is not None and 'normalisation' not in (cfg.get('protocol') or {}):
        given: Mapping = next(iter(preprocessors_of(source)), {})
        for preprocessor in preprocessors_of(cfg):
            preprocessor.update({key: given[key] for key in ('mean', 'std', 'to_rgb') if key in given})
            if len(preprocessor.get('mean') or [0] * 3) != 3:  # not colours
                preprocessor['to_rgb'] = False


def keep_background(cfg: Config, source: Config | None) -> None:
    """Show images with transparency on the background of a training config, in place."""
    with as_user_error('the data set in the config of the checkpoint'):
        use_background(cfg, reader_of(source or {}).get('background'))


def fit(cfg: Config, pretrained: PretrainedBackbone | None) -> None:
    """Build the backbone of a config, check that the weights fit, and set the number of channels the head expects.

    Raises:
        UserError: if the weights do not fit, or the evaluation cannot take such a backbone.
    """
    holder, size = holder_of_backbone(cfg.model), image_size(cfg)
    with as_user_error(f'the backbone {holder["backbone"]["type"]}'):
        feature = holder.get('feature')
        features = build(MODELS, dict(type='FrozenFeatures', backbone=holder['backbone'], feature=feature))
    if pretrained is not None:
        load_backbone(features, pretrained)
    try:
        channels = features.channels(size)
    except (AssertionError, RuntimeError) as error:
        raise UserError(
            f'a {type(features.backbone).__name__} cannot encode images of {size} pixels, which this evaluation has '
            f'({" ".join(str(error).split())}): choose data of its own size, or for a model of timm set '
            'dynamic_img_size=True in the config that `config` names'
        ) from error
    head = cfg.model.get('head') or {}
    expected = head.get('in_channels')
    if isinstance(expected, int) and len(channels) == 1:
        head['in_channels'] = channels[0]
    elif expected is not None and tuple(expected if isinstance(expected, (list, tuple)) else (expected,)) != channels:
        raise UserError(
            f'the heads of this evaluation expect features with {expected} channels, but the backbone gives '
            f'{channels}: choose another `recipe` or `recipe_config` for it'
        )


def put_classifier(cfg: Config, subject: Subject, finetuned: Config | None) -> None:
    """Put the classifier that robustness tests into the config of the test, in place.

    The classifier is built from the config in the checkpoint, or of the fine-tuning, since weights do not tell the
    number of attention heads. Without a config in the checkpoint, the test's linear head is put on the backbone of the
    config that the user names.
    """
    source, classes = subject.classifier, subject.classes
    keep_background(cfg, subject.config)
    if classes is None:
        if finetuned is None:
            raise UserError(
                f'robustness needs a fine-tuned classifier, and {subject.checkpoint} is none: put finetune '
                'before robustness in `protocols`, or give the checkpoint of the fine-tuned classifier'
            )
        source, classes = finetuned, finetuned.model.head.num_classes
    if classes != cfg.model.head.num_classes:
        raise UserError(
            f'{cfg.config_name} tests classifiers of {cfg.model.head.num_classes} classes, but {subject.checkpoint} '
            f'has {classes}: give one that was fine-tuned on ImageNet-1K'
        )
    if subject.classes is not None and subject.backbone is not None:
        load_backbone(build(MODELS, subject.backbone), subject.encoders['online'])
    if source is not None:
        cfg.model, cfg.data_preprocessor = source.model, source.get('data_preprocessor')
    elif subject.backbone is not None:
        put_backbone(cfg, subject.backbone, subject.config)
        fit(cfg, None)


def image_size(cfg: Config) -> int | tuple[int, int]:
    """Return the side of the evaluated images in pixels, or (height, width) if they are not square.

    This is the last crop or resize of their pipeline. Without one it is the image size of the config's backbone, else
    that of the last crop or resize in training, else 224.
    """
    tested = _last_size(cfg.get('test_dataloader') or cfg.get('val_dataloader'))
    own = holder_of_backbone(cfg.model)['backbone'].get('img_size')
    size = tested or own or _last_size(cfg.get('train_dataloader')) or 224
    height, width = (size, size) if isinstance(size, int) else size
    return height if height == width else (height, width)


def _last_size(loader: Mapping | None) -> tuple[int, ...] | None:
    pipelines = [node['pipeline'] for _, node in walk(loader or {}) if isinstance(node, Mapping) and 'pipeline' in node]
    sizes = [output_size(step) for step in (pipelines[-1] if pipelines else [])]
    return next((size for size in reversed(sizes) if size), None)
