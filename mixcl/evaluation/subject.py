"""What is evaluated: a checkpoint with one or two encoders, or an untrained backbone."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry

from mixcl.engine.runners.command_options import RANDOM
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.recipes import data_of_name, family_of, find_recipe
from mixcl.registry import MODELS
from mixcl.weights import (
    backbone_config,
    check_size,
    checked_part,
    checkpoint_in,
    local_file,
    read_checkpoint,
    sha256_of,
    weights_of,
)
from mixcl.weights.pretrained import PretrainedBackbone, read_pretrained


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
        classes: how many that classifier, or the linear head in the file, tells apart; None where there is neither.
        named: the file of the config, where the user named one; it may import and build whatever it says.
    """

    checkpoint: str = RANDOM
    sha256: str | None = None
    encoders: dict[str, PretrainedBackbone] = field(default_factory=dict)
    backbone: dict | None = None
    config: Config | None = None
    classifier: Config | None = None
    classes: int | None = None
    named: str | None = None

    @property
    def config_name(self) -> str | None:
        """Name of the config, for example ``'patchmix/vit-s16_in1k'``."""
        name = None if self.config is None else self.config.get('config_name')
        return name if isinstance(name, str) and name.isprintable() else None

    @property
    def epochs(self) -> int | None:
        """How long it was pretrained."""
        return next((encoder.epochs for encoder in self.encoders.values()), None)

    def checked(self, part: Any, registry: Registry, place: str) -> Any:
        """A part of the config, which must be one that any file may name where the user has not named the config."""
        return part if self.named else checked_part(part, registry, self.checkpoint, place)

    def encoders_for(self, asked: str | None, of_protocol: str | None = None) -> list[str]:
        """Those asked for ('online', 'target' or 'all'), else that of the protocol where there is one; outside of
        protocols :func:`default_encoder`."""
        if not self.encoders:
            return ['online']
        if asked == 'all':
            return list(self.encoders)
        if asked is None:
            of_protocol = of_protocol or default_encoder(self.config_name, self.backbone)
            return [of_protocol if of_protocol in self.encoders else 'online']
        if asked not in self.encoders:
            raise UserError(
                f'--encoder {asked}: {self.checkpoint} has the encoder {", ".join(self.encoders)} only; leave the '
                'option out'
            )
        return [asked]


def default_encoder(config_name: str | None, backbone: Mapping | None) -> str:
    """The encoder that embedding, export and figures take: that of the method's linear probe, which is what its authors
    publish; 'online' where unknown."""
    recipe = None
    if config_name:
        recipe = find_recipe('linear', {data_of_name(config_name)}, config_name, family_of(backbone))
    if recipe is None:
        return 'online'
    protocol = read_config(f'evaluation/recipes/{recipe.config}').protocol
    return recipe.changes.get('protocol.encoder') or protocol.get('encoder', 'online')


def read_subject(checkpoint: str, config: str | None = None) -> Subject:
    """Read what is to be evaluated.

    Args:
        checkpoint: a file as for :func:`~mixcl.weights.pretrained.read_pretrained`, the folder of a run, or 'random'.
        config: that the weights were trained with, in the place of the one that the file carries.

    Raises:
        UserError: if the file or the config cannot be read, nothing says which backbone the weights belong to, or the
            config in the file has parts that only the user's own may have.
    """
    given = read_config(config) if config else None
    if given is not None and not (given.get('model') or {}).get('backbone'):
        raise UserError(f'--config {config} has no model.backbone; give that of the run (for recipes: --recipe-config)')
    if checkpoint == RANDOM:
        return Subject(backbone=backbone_config(given), config=given, named=config)
    checkpoint = checkpoint_in(checkpoint)
    encoders = dict(online=read_pretrained(checkpoint))
    with contextlib.suppress(UserError):  # many have no EMA encoder
        encoders['target'] = read_pretrained(checkpoint, 'target')
    found = Subject(checkpoint, encoders=encoders, config=given or encoders['online'].config, named=config)
    backbone = backbone_config(found.config)
    if backbone is None:
        raise UserError(
            f'{checkpoint} holds weights without the config they were trained with; name it, or one with the same '
            'model.backbone, by --config FILE (config= in Python)'
        )
    backbone, classifier = found.checked(backbone, MODELS, 'backbone'), None
    if found.config is not None and _is_classifier(found.config):
        parts = {name: part for name, part in found.config.to_dict().items() if name in ('model', 'data_preprocessor')}
        classifier = Config(found.checked(parts, MODELS, 'config'))
    weights = weights_of(read_checkpoint(checkpoint), checkpoint)
    if given is None:
        check_size(classifier.model if classifier else backbone, weights, checkpoint)
    head = weights.get('head.fc.weight', ())  # of mmpretrain's linear heads, (classes, channels)
    classes = (classifier.model.get('head') or {}).get('num_classes') if classifier else len(head) or None
    digest = sha256_of(local_file(checkpoint))
    return replace(found, sha256=digest, backbone=backbone, classifier=classifier, classes=classes)


def _is_classifier(config: Config) -> bool:
    model = config.get('model') or {}
    return str(model.get('type')).rpartition('.')[2] == 'ImageClassifier'
