"""The classifier that robustness tests: a checkpoint of one, or the one that fine-tuning trains before."""

from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.evaluation.adaptation import fit, put_backbone
from mixcl.evaluation.subject import Subject
from mixcl.registry import MODELS
from mixcl.weights import load_backbone


def put_classifier(cfg: Config, subject: Subject, finetuned: Config | None) -> None:
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
    source = subject.classifier or (None if subject.is_classifier else finetuned)
    name = subject.checkpoint
    if source is None and not subject.is_classifier:
        raise UserError(
            f'robustness is that of a fine-tuned classifier, which {name} is not: put finetune before '
            'robustness in --protocols, or give the checkpoint of the fine-tuned classifier'
        )
    found, expected = subject.head_classes, cfg.model.head.num_classes
    if found is None and source is not None:
        found = source.model.head.get('num_classes')
        name = name if subject.classifier is not None else source.config_name
    if found not in (None, expected):
        raise UserError(
            f'{cfg.config_name} tests classifiers of {expected} classes, but {name} tells {found} apart: give one that '
            'was fine-tuned on ImageNet-1K'
        )
    if subject.is_classifier and subject.backbone is not None:
        with DefaultScope.overwrite_default_scope('mixcl'):
            load_backbone(MODELS.build(subject.backbone), subject.encoders['online'])
    if source is None and subject.backbone is not None:
        put_backbone(cfg, subject.backbone, subject.config)
        fit(cfg, subject.encoders['online'])
    elif source is not None:
        cfg.model = source.model
        cfg.data_preprocessor = source.get('data_preprocessor')
