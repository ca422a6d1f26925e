"""The backbone in a checkpoint, whatever wrote it: read, and loaded into a model's backbone or refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mmengine.config import Config, ConfigDict
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights.checkpoint import differences, non_finite, read_checkpoint, weights_of
from mixcl.weights.stored_config import meta_of, stored_config

ENCODERS = ('online', 'target')
PREFIXES = dict(
    online=('backbone.backbone.', 'backbone.'),  # of a classifier over FrozenFeatures; of everything else
    target=('target.backbone.',),
)
"""Prefixes of the weights of an encoder's backbone; the first prefix that occurs counts."""

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


@dataclass(frozen=True)
class LoadReport:
    """What became of the weights.

    Attributes:
        loaded: names of the tensors that were loaded.
        new: names of the model's tensors that the file does not have.
        unused: names of the file's tensors that the model does not have.
    """

    loaded: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self) -> str:
        return f'{len(self.loaded)} tensors loaded, new: {_listed(self.new)}, unused: {_listed(self.unused)}'


def _listed(names: Sequence[str]) -> str:
    return (', '.join(names[:3]) or 'none') + (f' and {len(names) - 3} more' if len(names) > 3 else '')


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
    if not set(wanted) <= set(ENCODERS):
        raise UserError(f'there is no {encoder!r} encoder; choose one of {", ".join(ENCODERS)}')
    checkpoint = read_checkpoint(path)
    chosen, state = _backbone_state(weights_of(checkpoint, path), wanted, path)
    config = stored_config(checkpoint, path)
    return PretrainedBackbone(
        source=str(path),
        encoder=chosen,
        state=state,
        config=config,
        backbone=backbone_config(config),
        epochs=meta_of(checkpoint).get('epoch'),
    )


def _backbone_state(weights: dict[str, Tensor], wanted: Sequence[str], path: str | Path) -> tuple[str, dict]:
    """The first encoder wanted that there is, and the weights of its backbone."""
    for encoder in wanted:
        for prefix in PREFIXES[encoder]:
            found = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
            if found:
                return encoder, found
    if 'online' not in wanted:
        raise UserError(
            f"{path} has no target encoder (no weights under 'target.backbone.'): only pretraining checkpoints of "
            'methods with an EMA encoder have one; use --encoder online'
        )
    if all(name.startswith(OTHER_PARTS) for name in weights):
        raise UserError(
            f"{path} holds no backbone, only {next(iter(weights))} and the like; give a checkpoint with 'backbone.' or "
            'the weights of a backbone alone'
        )
    return 'online', weights


def backbone_config(config: Config | None) -> dict | None:
    """The config of a model's backbone, without FrozenFeatures around it; None where there is none."""
    found, part = None, None if config is None else config.get('model')
    while isinstance(part, ConfigDict) and isinstance(part.get('backbone'), ConfigDict):
        part = found = part['backbone']
    return None if found is None else found.to_dict()


def check_known(backbone: Mapping, place: str | Path) -> None:
    """Raise :class:`UserError` unless the type of a backbone is one that can be built.

    Args:
        backbone: its config.
        place: where it comes from, for the message.
    """
    kind = backbone.get('type')
    if kind is None or (isinstance(kind, str) and MODELS.get(kind) is None):
        raise UserError(
            f'{place} names a backbone of type {kind!r}, which is not known here: give by --backbone-config a config '
            'of the same backbone that says where its class comes from, as in mmpretrain.VisionTransformer'
        )


def load_backbone(module: nn.Module, pretrained: PretrainedBackbone, new: Sequence[str] = ()) -> LoadReport:
    """Load a pretrained backbone; every tensor of the model's must be in it.

    Position embeddings of another image size are resized where the backbone does that by itself on loading
    (mmpretrain's vision transformers: bicubic). What the file has beyond the model's names is left out if it is a
    part of its own, such as a final norm; more blocks than the model has are an error.

    Args:
        module: the backbone, or a module whose ``backbone`` it is (:class:`~mixcl.evaluation.models.FrozenFeatures`).
        pretrained: the weights.
        new: patterns of names that the file need not have, for example ``'*.rel_pos_*'``.

    Raises:
        UserError: if weights are missing, of another shape, or of a deeper network, or the number of attention heads
            differs, which no shape would tell, or weights are no finite numbers.
    """
    while isinstance(inner := getattr(module, 'backbone', None), nn.Module):
        module = inner
    own, state = module.state_dict(), pretrained.state
    reason = _misfit(own, state, new) or _other_heads(module, pretrained.backbone)
    if reason is None:
        try:
            module.load_state_dict(state, strict=False)
        except (AssertionError, RuntimeError) as error:
            # Only position embeddings can fail here, in words of several lines.
            reason = f'its position embeddings cannot be resized: {" ".join(str(error).split())}'
    if reason is not None:
        raise UserError(
            f'the {pretrained.encoder} encoder in {pretrained.source} does not fit the backbone of the config, a '
            f'{type(module).__name__}: {reason}; give a checkpoint and a config of the same architecture'
        )
    broken = non_finite({name: state[name] for name in own if name in state})
    if broken:
        raise UserError(
            f'the {pretrained.encoder} encoder in {pretrained.source} holds infinity or NaN in {len(broken)} tensors, '
            f'for example {broken[0]}: its run diverged or the file is damaged; take an earlier checkpoint'
        )
    return LoadReport(
        loaded=tuple(name for name in own if name in state),
        new=tuple(name for name in own if name not in state),
        unused=tuple(name for name in state if name not in own),
    )


def _misfit(own: Mapping[str, Tensor], state: Mapping[str, Tensor], new: Sequence[str]) -> str | None:
    if not any(name in state for name in own):
        return f'not one name is the same ({next(iter(state))} in the file, {next(iter(own))} in the model)'
    optional = {name for name in own if name not in state and any(fnmatchcase(name, pattern) for pattern in new)}
    optional |= {name for name in own if name in state and _resizable(name, own[name], state[name])}
    parts = {name.partition('.')[0] for name in own}
    compared = {name: tensor for name, tensor in own.items() if name not in optional}
    stored = {name: state[name] for name in state if name.partition('.')[0] in parts and name not in optional}
    return '; '.join(differences(compared, stored)) or None


def _resizable(name: str, own: Tensor, stored: Tensor) -> bool:
    """Whether they are position embeddings of different image sizes."""
    is_position = name.rpartition('.')[2] == 'pos_embed' and own.dim() == stored.dim() == 3
    return is_position and own.shape[1] != stored.shape[1] and own.shape[2] == stored.shape[2]


def check_heads(module: nn.Module, config: Config | None, path: str | Path) -> None:
    """Raise :class:`UserError` if a model's backbone has other attention heads than in the config of its checkpoint.

    The shapes of the weights are the same for any number of heads, the results are not.

    Args:
        module: the model; one without a ``backbone`` is not looked at.
        config: that the checkpoint carries.
        path: of the checkpoint, for the message.
    """
    backbone = getattr(module, 'backbone', None)
    reason = None if backbone is None else _other_heads(backbone, backbone_config(config))
    if reason is not None:
        raise UserError(f'{path} does not fit the config: {reason}; use the config it was trained with')


def _other_heads(module: nn.Module, config: Mapping | None) -> str | None:
    architecture = (config or {}).get('arch')
    trained = architecture.get('num_heads') if isinstance(architecture, Mapping) else None
    own = next((child.num_heads for child in module.modules() if hasattr(child, 'num_heads')), None)
    if not isinstance(trained, int) or own in (None, trained):
        return None
    return f'it was trained with {trained} attention heads, the model has {own}'
