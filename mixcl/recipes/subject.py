"""What is evaluated: a checkpoint with one or two encoders, or an untrained backbone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry

from mixcl.errors import UserError, as_user_error
from mixcl.recipes.images import image_pipeline
from mixcl.recipes.paths import kind_of, preprocessors_of
from mixcl.recipes.prepared import prepared
from mixcl.recipes.reading import read_config
from mixcl.recipes.recipe_table import data_of_name, family_of, find_recipe
from mixcl.registry import MODELS, TRANSFORMS
from mixcl.weights import (
    ENCODERS,
    RANDOM,
    Encoder,
    PretrainedBackbone,
    backbone_config,
    check_size,
    checked_part,
    checkpoint_in,
    encoders_in,
    image_shape,
    load_encoder,
    local_file,
    read_checkpoint,
    sha256_of,
    weights_of,
)


@dataclass(frozen=True)
class Subject:
    """Subject of an evaluation.

    Attributes:
        checkpoint: path, or 'random'.
        sha256: digest of the file; None for 'random'.
        encoders: encoders by name, 'online' and perhaps 'target'; none for 'random'.
        backbone: config of the backbone; None where that of the data set is to be taken.
        config: config that the backbone comes from; None where unknown.
        classifier: config of the classifier in the checkpoint, if the checkpoint carries one or the user gives one.
        classes: number of classes of that classifier, or of the linear head in the file; None where there is neither.
        named: file of the config that the user named, if any; it may import and build anything.
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
        """Number of epochs of the pretraining."""
        return next((encoder.epochs for encoder in self.encoders.values()), None)

    def checked(self, part: Any, registry: Registry, place: str) -> Any:
        """Return a part of the config; unless the user named the config, it must be one that any file may have."""
        return part if self.named else checked_part(part, registry, self.checkpoint, place)

    def encoders_for(self, option: str | None, of_protocol: str | None = None) -> list[str]:
        """List the encoders of the option ('online', 'target', 'all'), else that of the protocol; see :meth:`side`."""
        if option == 'all' and self.encoders:
            return list(self.encoders)
        return [self.side(option, of_protocol)]

    def side(self, option: str | None = None, of_protocol: str | None = None) -> str:
        """Return the encoder of the option, 'online' or 'target', else the protocol's, else the default."""
        if option is None or not self.encoders:
            return default_encoder(self.config_name, self.backbone, [*self.encoders], of_protocol)
        if option not in self.encoders:
            raise UserError(
                f'`encoder={option}`: {self.checkpoint} has the encoder {", ".join(self.encoders)} only; leave the '
                'option out'
            )
        return option

    def settings(self, feature: str = 'Output') -> dict[str, Any]:
        """Return the config of the model that :meth:`encoder` builds."""
        preprocessors = preprocessors_of(self.config or {})
        if not self.backbone or not preprocessors:
            raise UserError(
                f'{self.named or self.checkpoint} says nothing about a backbone and its data_preprocessor, by which '
                'images are normalised; name the config that it belongs to by `config`'
            )
        found = dict(backbone=self.backbone, feature=dict(type=feature), data_preprocessor=dict(preprocessors[0]))
        return self.checked(dict(type='FrozenEncoder', **found), MODELS, 'model')

    def encoder(self, option: str | None = None, feature: str = 'Output', seed: int = 0) -> Encoder:
        """Load the encoder of the option, by default of :func:`default_encoder`; a random one without a checkpoint.

        See :func:`~mixcl.weights.encoder.load_encoder`, and :mod:`mixcl.evaluation.models` for the features.
        """
        side, settings = self.side(option), self.settings(feature)
        with as_user_error(f'the encoder of {self.named or self.checkpoint}'):
            return load_encoder(settings, self.encoders[side] if self.encoders else None, seed)

    def pipeline(self, image_size: int | None = None) -> list[dict[str, Any]]:
        """Return the checked pipeline that prepares image files for the backbone, see :func:`image_pipeline`."""
        with as_user_error(f'the pipeline of {self.named or self.checkpoint}'):
            return self.checked(image_pipeline(self.config or Config(), image_size), TRANSFORMS, 'pipeline')


def default_encoder(
    config_name: str | None, backbone: Mapping | None, sides: Sequence[str] = ENCODERS, of_protocol: str | None = None
) -> str:
    """Return the encoder to evaluate: the protocol's, or without one (embedding, export, figures) that of the linear
    probe that the method's authors publish. If it is none of the ``sides``, return the first of these.
    """
    recipe = None
    if config_name and not of_protocol:
        recipe = find_recipe('linear', {data_of_name(config_name)}, config_name, family_of(backbone))
    if recipe is not None:
        protocol = read_config(f'evaluation/recipes/{recipe.config}').protocol
        of_protocol = protocol.get('encoder')
    return of_protocol if of_protocol and of_protocol in sides else next(iter(sides), 'online')


def read_subject(checkpoint: str, config: str | None = None) -> Subject:
    """Read what is to be evaluated.

    Args:
        checkpoint: a file as for :func:`~mixcl.weights.pretrained.read_pretrained`, the folder of a run, or 'random'.
        config: config that the weights were trained with, in place of the one in the file.

    Raises:
        UserError: if the file or the config cannot be read, nothing says which backbone the weights belong to, or the
            config in the file has parts that only the user's own may have.
    """
    own_config = prepared(config) if config else None
    if own_config is not None and not (own_config.get('model') or {}).get('backbone'):
        raise UserError(f'`config={config}` has no model.backbone; give that of the run (for recipes: `recipe_config`)')
    if checkpoint == RANDOM:
        return Subject(backbone=backbone_config(own_config), config=own_config, named=config)
    checkpoint = checkpoint_in(checkpoint)
    content = read_checkpoint(checkpoint)
    encoders, weights = encoders_in(content, checkpoint), weights_of(content, checkpoint)
    trained_with = own_config or next(iter(encoders.values())).config
    subject = Subject(checkpoint, encoders=encoders, config=trained_with, named=config)
    backbone = backbone_config(trained_with)
    for name, encoder in encoders.items():
        encoders[name] = replace(encoder, image_shape=encoder.image_shape or image_shape(backbone))
    if backbone is None:
        raise UserError(
            f'{checkpoint} holds weights without the config they were trained with; name it, or one with the same '
            'model.backbone, by `config=FILE`'
        )
    backbone, classifier = subject.checked(backbone, MODELS, 'backbone'), None
    if trained_with is not None and kind_of(trained_with.model) == 'ImageClassifier':
        parts = {name: part for name, part in trained_with.to_dict().items() if name in ('model', 'data_preprocessor')}
        classifier = Config(subject.checked(parts, MODELS, 'config'))
    if own_config is None:
        check_size(classifier.model if classifier else backbone, weights, checkpoint)
    head = weights.get('head.fc.weight', ())  # of mmpretrain's linear heads, (classes, channels)
    classes = (classifier.model.get('head') or {}).get('num_classes') if classifier else len(head) or None
    digest = sha256_of(local_file(checkpoint))
    return replace(subject, sha256=digest, backbone=backbone, classifier=classifier, classes=classes)
