"""What is evaluated: a checkpoint with one or two encoders, or an untrained backbone."""

import contextlib
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config

from mixcl.engine.runners.command_options import RANDOM
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import checked_part, local_file, pretrained, read_checkpoint, sha256_of, weights_of
from mixcl.weights.pretrained import PretrainedBackbone, read_pretrained

HEAD = 'head.fc.weight'
"""Of mmpretrain's linear heads, (classes, channels)."""


@dataclass(frozen=True)
class Subject:
    """What is evaluated.

    Attributes:
        checkpoint: path, or 'random'.
        sha256: of the file; None for 'random'.
        encoders: by name, 'online' and perhaps 'target'; none for 'random'.
        backbone: config of the backbone; None where that of the data set is to be taken.
        config: that the backbone comes from; None where unknown.
        classifier: the config of the classifier that it is the checkpoint of, where it carries one or one is given.
        head_classes: how many classes a linear head in the file tells apart; None where it has none.
    """

    checkpoint: str
    sha256: str | None
    encoders: dict[str, PretrainedBackbone]
    backbone: dict | None
    config: Config | None
    classifier: Config | None = None
    head_classes: int | None = None

    @property
    def config_name(self) -> str | None:
        """Name of the config, for example ``'patchmix/vit-s16_in1k'``."""
        name = None if self.config is None else self.config.get('config_name')
        return name if isinstance(name, str) and name.isprintable() else None

    @property
    def epochs(self) -> int | None:
        """How long it was pretrained."""
        return next((encoder.epochs for encoder in self.encoders.values()), None)

    @property
    def is_classifier(self) -> bool:
        """Whether it is the checkpoint of a classifier, with its head."""
        return self.classifier is not None or self.head_classes is not None

    def encoders_for(self, asked: str | None, of_protocol: str) -> list[str]:
        """The encoders to evaluate.

        Args:
            asked: 'online', 'target', 'all', or None for the protocol's.
            of_protocol: 'online' or 'target'; the online one is taken where there is no other.

        Raises:
            UserError: if the encoder that is asked for does not exist.
        """
        if not self.encoders:
            return ['online']
        if asked == 'all':
            return list(self.encoders)
        if asked is None:
            return [of_protocol if of_protocol in self.encoders else 'online']
        if asked not in self.encoders:
            raise UserError(
                f'--encoder {asked}: {self.checkpoint} has the encoder {", ".join(self.encoders)} only; leave the '
                'option out'
            )
        return [asked]


def read_subject(checkpoint: str, backbone_config: str | None = None) -> Subject:
    """Read what is to be evaluated.

    Args:
        checkpoint: a file as for :func:`~mixcl.weights.pretrained.read_pretrained`, or 'random'.
        backbone_config: a config whose ``model.backbone`` the weights belong to.

    Raises:
        UserError: if the file or the config cannot be read, nothing says which backbone the weights belong to, or the
            config in the file has parts that only the user's own may have.
    """
    given = read_config(backbone_config) if backbone_config else None
    if given is not None and not (given.get('model') or {}).get('backbone'):
        raise UserError(f'--backbone-config {backbone_config} has no model.backbone; name a config that has one')
    if checkpoint == RANDOM:
        return Subject(RANDOM, None, {}, pretrained.backbone_config(given), given)
    encoders = dict(online=read_pretrained(checkpoint))
    with contextlib.suppress(UserError):  # many have no EMA encoder
        encoders['target'] = read_pretrained(checkpoint, 'target')
    stored = encoders['online'].config
    backbone = pretrained.backbone_config(given)
    if backbone is None and encoders['online'].backbone is not None:
        backbone = checked_part(encoders['online'].backbone, MODELS, checkpoint, 'backbone')
    if backbone is None:
        raise UserError(
            f'{checkpoint} holds weights without the config they were trained with; say by --backbone-config CONFIG '
            'whose model.backbone they belong to'
        )
    classifier = given if _is_classifier(given) else None
    if stored is not None and _is_classifier(stored):
        parts = {name: part for name, part in stored.to_dict().items() if name in ('model', 'data_preprocessor')}
        classifier = Config(checked_part(parts, MODELS, checkpoint, 'config'))
    digest, head = sha256_of(local_file(checkpoint)), weights_of(read_checkpoint(checkpoint), checkpoint).get(HEAD)
    classes = None if head is None else len(head)
    return Subject(checkpoint, digest, encoders, backbone, given or stored, classifier, classes)


def _is_classifier(config: Config | None) -> bool:
    model: Any = {} if config is None else config.get('model') or {}
    return str(model.get('type')).rpartition('.')[2] == 'ImageClassifier'
