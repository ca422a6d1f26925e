"""Putting a backbone, or a whole classifier, into the facts of an evaluation."""

import copy
from collections.abc import Mapping

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError, as_user_error
from mixcl.recipes.own_data import reader_of, use_background
from mixcl.recipes.paths import holder_of_backbone, preprocessors_of, walk
from mixcl.recipes.subject import Subject
from mixcl.registry import MODELS, build, keywords_of
from mixcl.weights import Encoder, load_pretrained

TRAINING_SETTINGS = frozenset(
    {'drop_path_rate', 'frozen_blocks', 'frozen_stages', 'frozen_patch_embed', 'fixed_position', 'init_cfg', 'lora'}
)
"""Settings of a backbone that say how it is trained. An evaluation takes them from its own recipe."""

INITIALISATION_SETTINGS = frozenset({'frozen_patch_embed', 'fixed_position', 'lora'})
"""The :data:`TRAINING_SETTINGS` that a frozen backbone keeps from pretraining, since they decide initial weights."""

BATCH_NORMS = ('BN', 'SyncBN', 'mixcl.SyncBatchNorm')
"""Kinds of batch normalisation: the same in evaluation, but trained with statistics of one or of all processes."""


def put_backbone(cfg: Config, backbone: Mapping, source: Config | None) -> None:
    """Put a backbone into the facts of an evaluation, in place; nothing is built.

    Sets the backbone (for the evaluated images, trained as the recipe says), the background of images with
    transparency, and mean and std of the pretraining, unless the recipe has others.
    """
    use_background_of(cfg, source)
    holder = holder_of_backbone(cfg.model)
    of_recipe, kind, frozen = holder['backbone'], MODELS.get(backbone['type']), MODELS.get(holder['type'])
    is_frozen = isinstance(frozen, type) and issubclass(frozen, Encoder)
    replaced = TRAINING_SETTINGS - INITIALISATION_SETTINGS if is_frozen else TRAINING_SETTINGS
    new = {key: copy.deepcopy(value) for key, value in backbone.items() if key not in replaced}
    views, name = cfg.evaluated.views, cfg.get('views', 'plain')
    size = (views.get(name if name in views else 'plain') or {}).get('size', cfg.data.size)
    for _, part in walk(new):
        if isinstance(part, dict) and 'img_size' in part:
            part['img_size'] = size
    new |= {key: of_recipe[key] for key in replaced & of_recipe.keys() & keywords_of(kind).keys()}
    from mmpretrain.models import ResNet  # here, once mixcl.quiet_imports has prepared mmpretrain

    if isinstance(kind, type) and issubclass(kind, ResNet):
        norm, wanted = new.get('norm_cfg') or dict(type='BN'), (of_recipe.get('norm_cfg') or {}).get('type')
        if norm['type'] in BATCH_NORMS and wanted in BATCH_NORMS:
            new['norm_cfg'] = {**norm, 'type': wanted}
    holder['backbone'] = ConfigDict(new)
    if source is not None and cfg.get('statistics', 'pretraining') == 'pretraining':
        normalisation: Mapping = next(iter(preprocessors_of(source)), {})
        cfg.data.update({key: normalisation[key] for key in ('mean', 'std') if normalisation.get(key) is not None})
        if normalisation.get('to_rgb') is False and len(cfg.data.mean) == 3:
            cfg.data_preprocessor = dict(to_rgb=False)


def use_background_of(cfg: Config, source: Config | None) -> None:
    """Show images with transparency on the background of a training config, in place."""
    with as_user_error('the data set in the config of the checkpoint'):
        if colour := reader_of(source or {}).get('background'):
            use_background(cfg, colour)


def put_classifier(cfg: Config, subject: Subject, finetuned: Config | None) -> None:
    """Put the classifier that robustness tests into the config of the test, in place.

    The classifier is built from the config in the checkpoint, or of the fine-tuning, since weights do not tell the
    number of attention heads. Without a config in the checkpoint, the test's linear head is put on the backbone of the
    config that the user names.
    """
    source, classes = subject.classifier, subject.classes
    use_background_of(cfg, subject.config)
    if classes is None:
        if finetuned is None:
            raise UserError(
                f'robustness needs a fine-tuned classifier, and {subject.checkpoint} is none: put finetune '
                'before robustness in `protocols`, or give the checkpoint of the fine-tuned classifier'
            )
        source, classes = finetuned, finetuned.model.head.num_classes
    if classes != cfg.evaluated.classes:
        raise UserError(
            f'{cfg.config_name} tests classifiers of {cfg.evaluated.classes} classes, but {subject.checkpoint} '
            f'has {classes}: give one that was fine-tuned on ImageNet-1K'
        )
    if subject.classes is not None and subject.backbone is not None:
        load_pretrained(build(MODELS, subject.backbone), subject.encoders['online'])
    if source is not None:
        cfg.model, normalised = copy.deepcopy(source.model), copy.deepcopy(source.get('data_preprocessor'))
        cfg.data_preprocessor = normalised and dict(normalised, _delete_=True)
    elif subject.backbone is not None:
        put_backbone(cfg, subject.backbone, subject.config)
