"""The classifier that robustness tests: a checkpoint of one, or the one that fine-tuning trains before."""

from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.evaluation.adaptation import adapt
from mixcl.evaluation.subject import Subject
from mixcl.registry import MODELS
from mixcl.weights import load_backbone


def choose_classifier(cfg: Config, subject: Subject, finetuned: Config | None) -> None:
    """Put the classifier that is to be tested into the config of the test, in place.

    Weights do not tell the number of attention heads, so that the model is never the test's own: it is that of the
    config in the checkpoint, or of the fine-tuning. A checkpoint without a config gets the test's linear head on the
    backbone of ``--backbone-config``.

    Args:
        cfg: of the test, with a classifier of its own, which tells how many classes are expected.
        subject: what is evaluated.
        finetuned: the config of the fine-tuning that comes before; None for none.

    Raises:
        UserError: if there is no classifier, it tells another number of classes apart, or its weights, its config and
            ``--backbone-config`` contradict each other.
    """
    _check_classes(cfg, subject.head_classes, subject.checkpoint)
    if subject.classifier is not None:
        _check_heads(subject)
        take_classifier(cfg, subject.classifier, subject.checkpoint)
        with DefaultScope.overwrite_default_scope('mixcl'):
            load_backbone(MODELS.build(cfg.model.backbone), subject.encoders['online'])
    elif subject.head_classes is not None:
        adapt(cfg, subject.backbone, subject.config, subject.encoders['online'])
    elif finetuned is not None:
        take_classifier(cfg, finetuned, finetuned.get('config_name'))
    else:
        raise UserError(
            f'robustness is that of a fine-tuned classifier, which {subject.checkpoint} is not: put finetune before '
            'robustness in --protocols, or give the checkpoint of the fine-tuned classifier'
        )


def take_classifier(cfg: Config, source: Config, name: str) -> None:
    """Let a test build the classifier of another config, and prepare the images for it; in place.

    Args:
        cfg: of the test, with a classifier of its own, which tells how many classes are expected.
        source: the config that the classifier was trained with.
        name: of the classifier, for the message.

    Raises:
        UserError: if it tells another number of classes apart.
    """
    _check_classes(cfg, source.model.head.get('num_classes'), name)
    cfg.model = source.model
    cfg.data_preprocessor = source.get('data_preprocessor')


def _check_classes(cfg: Config, found: int | None, name: str) -> None:
    expected = cfg.model.head.num_classes
    if found not in (None, expected):
        raise UserError(
            f'{cfg.config_name} tests classifiers of {expected} classes, but {name} tells {found} apart: give one that '
            'was fine-tuned on ImageNet-1K'
        )


def _check_heads(subject: Subject) -> None:
    trained, given = (_heads(backbone) for backbone in (subject.classifier.model.backbone, subject.backbone))
    if None not in (trained, given) and trained != given:
        raise UserError(
            f'{subject.checkpoint} was trained with {trained} attention heads, but --backbone-config has {given}: '
            'leave the option out, or name the config of that backbone'
        )


def _heads(backbone: dict) -> int | None:
    while 'backbone' in backbone:
        backbone = backbone['backbone']
    architecture = backbone.get('arch')
    return architecture.get('num_heads') if isinstance(architecture, dict) else None
