"""The backbone in a checkpoint, whatever wrote it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config
from torch import Tensor

from mixcl.errors import UserError
from mixcl.weights.checkpoint import read_checkpoint, weights_of
from mixcl.weights.stored_config import parse_config

ENCODERS = ('online', 'target')
PREFIXES = dict(
    online=('backbone.backbone.', 'backbone.'),  # of a classifier over FrozenFeatures; of everything else
    target=('target.backbone.',),
)
"""Where the weights of an encoder's backbone lie; the first prefix that occurs counts."""

OTHER_PARTS = ('neck.', 'head.', 'predictor.', 'target.', 'memory.', 'objective.')
"""Parts of learners and classifiers that are no backbone."""


@dataclass(frozen=True)
class PretrainedBackbone:
    """Weights of a backbone, and what the checkpoint says about their origin.

    Attributes:
        source: the file.
        encoder: which encoder of it, 'online' or 'target' (the momentum encoder).
        state: the weights, under the backbone's own names, on the CPU.
        config: the config that the checkpoint was trained with; None where it carries none.
        backbone: the config of the backbone in it, without :class:`~mixcl.evaluation.models.FrozenFeatures` around it.
        epochs: how many epochs were over when it was saved; None where unknown.
    """

    source: str
    encoder: str
    state: dict[str, Tensor]
    config: Config | None = None
    backbone: dict | None = None
    epochs: int | None = None

    @property
    def config_name(self) -> str | None:
        """The name of that config, for example ``'patchmix/vit-s16_in1k'``; None where unknown."""
        return None if self.config is None else self.config.get('config_name')


def read_pretrained(path: str | Path, encoder: str | Sequence[str] = 'online') -> PretrainedBackbone:
    """Read the backbone in a checkpoint file.

    Args:
        path: a pretraining checkpoint of mixcl, a checkpoint of a classifier or detector (its backbone under
            ``backbone.``), or the weights of a backbone alone.
        encoder: 'online' or 'target'; the latter exists in pretraining checkpoints of methods with an EMA encoder.
            Of several, the first that the file has.

    Raises:
        UserError: if the file cannot be read, holds no backbone, or has no such encoder.
    """
    wanted = (encoder,) if isinstance(encoder, str) else tuple(encoder)
    for name in wanted:
        if name not in ENCODERS:
            raise UserError(f'there is no {name!r} encoder; choose one of {", ".join(ENCODERS)}')
    checkpoint = read_checkpoint(path)
    weights = weights_of(checkpoint, path)
    encoder = next((name for name in wanted if any(key.startswith(PREFIXES[name]) for key in weights)), wanted[-1])
    state = _backbone_state(weights, encoder, path)
    config, epochs = stored_config(checkpoint, path), _meta(checkpoint).get('epoch')
    return PretrainedBackbone(str(path), encoder, state, config, backbone_config(config), epochs)


def stored_config(checkpoint: Mapping[str, Any], path: str | Path) -> Config | None:
    """The config that a checkpoint carries; None where it carries none.

    Args:
        checkpoint: as read.
        path: of the file, for messages.

    Raises:
        UserError: if it is not one that mmengine wrote.
    """
    text = _meta(checkpoint).get('cfg')
    return parse_config(text, str(path)) if isinstance(text, str) else None


def _meta(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = checkpoint.get('meta') if 'state_dict' in checkpoint else None
    return meta if isinstance(meta, Mapping) else {}


def _backbone_state(weights: dict[str, Tensor], encoder: str, path: str | Path) -> dict[str, Tensor]:
    for prefix in PREFIXES[encoder]:
        found = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        if found:
            return found
    if encoder == 'target':
        raise UserError(
            f"{path} has no target encoder (no weights under 'target.backbone.'): only pretraining checkpoints of "
            'methods with an EMA encoder have one; use --encoder online'
        )
    if all(name.startswith(OTHER_PARTS) for name in weights):
        raise UserError(
            f"{path} holds no backbone, only {next(iter(weights))} and the like; give a checkpoint with 'backbone.' or "
            'the weights of a backbone alone'
        )
    return weights


def backbone_config(config: Config | None) -> dict | None:
    """The config of a model's backbone, without FrozenFeatures around it; None where there is none."""
    model: Any = {} if config is None else config.get('model')
    backbone = model.get('backbone') if isinstance(model, Mapping) else None
    while isinstance(backbone, Mapping) and isinstance(backbone.get('backbone'), Mapping):
        backbone = backbone['backbone']
    return backbone.to_dict() if isinstance(backbone, Mapping) else None
