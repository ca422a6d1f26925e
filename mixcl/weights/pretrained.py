"""The backbone in a checkpoint, whatever wrote it: read, and loaded into a model's backbone or refused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mmengine.config import Config, ConfigDict
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.weights.checkpoint import differences, non_finite, read_checkpoint, weights_of
from mixcl.weights.stored_config import meta_of, stored_config

ENCODERS = ('online', 'target')
PREFIXES = dict(
    online=('backbone.backbone.', 'backbone.'),  # of a classifier over FrozenFeatures; of everything else
    target=('target.backbone.',),
)
"""Prefixes of the weights of an encoder's backbone; the first prefix that occurs counts."""


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


def read_pretrained(path: str | Path, encoder: str | Sequence[str] = 'online') -> PretrainedBackbone:
    """Read the backbone in a checkpoint file.

    Args:
        path: a pretraining checkpoint of mixcl, a checkpoint of a classifier or detector (its backbone under
            ``backbone.``), or the weights of a backbone alone.
        encoder: 'online' or 'target'; the latter exists in pretraining checkpoints of methods with an EMA encoder.
            Of several, the first that the file has.

    Raises:
        UserError: if the file cannot be read, holds no weights, or has no such encoder.
    """
    wanted = (encoder,) if isinstance(encoder, str) else tuple(encoder)
    if not set(wanted) <= set(ENCODERS):
        raise UserError(f'there is no {encoder!r} encoder; choose one of {", ".join(ENCODERS)}')
    checkpoint = read_checkpoint(path)
    chosen, state = _backbone_state(weights_of(checkpoint, path), wanted, path)
    config, epochs = stored_config(checkpoint, path), meta_of(checkpoint).get('epoch')
    return PretrainedBackbone(
        source=str(path),
        encoder=chosen,
        state=state,
        config=config,
        backbone=backbone_config(config),
        epochs=epochs if isinstance(epochs, int) else None,
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
    return 'online', weights


def backbone_config(config: Config | None) -> dict | None:
    """The config of a model's backbone, without FrozenFeatures around it; None where there is none."""
    found, part = None, None if config is None else config.get('model')
    while isinstance(part, ConfigDict) and isinstance(part.get('backbone'), ConfigDict):
        part = found = part['backbone']
    return None if found is None else found.to_dict()


def load_backbone(module: nn.Module, pretrained: PretrainedBackbone, new: Sequence[str] = ()) -> str:
    """Load a pretrained backbone; every tensor of the model's must be in it.

    Position embeddings of another image size are resized where the backbone does that by itself on loading
    (mmpretrain's vision transformers: bicubic). What the file has beyond the model's names is left out if it is a
    part of its own, such as a final norm; more blocks than the model has are an error.

    Args:
        module: the backbone, or a module whose ``backbone`` it is (:class:`~mixcl.evaluation.models.FrozenFeatures`).
        pretrained: the weights.
        new: patterns of names that the file need not have, for example ``'*.rel_pos_*'``.

    Returns:
        What became of the weights: how many tensors were loaded, which of the model's are new, which of the file's
        are unused.

    Raises:
        UserError: if weights are missing, of another shape, or of a deeper network, or the number of attention heads
            differs, which no shape would tell, or weights are no finite numbers.
    """
    while isinstance(inner := getattr(module, 'backbone', None), nn.Module):
        module = inner
    own, state = module.state_dict(), pretrained.state
    reason = '; '.join([*_misfits(own, state, new), *_other_heads(module, pretrained.backbone)])
    if not reason:
        try:
            module.load_state_dict(state, strict=False)
        except (AssertionError, RuntimeError) as error:
            # Only position embeddings can fail here, in words of several lines.
            reason = f'its position embeddings cannot be resized: {" ".join(str(error).split())}'
    if reason:
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
    fresh, unused = [name for name in own if name not in state], [name for name in state if name not in own]
    return f'{len(own) - len(fresh)} tensors loaded, new: {_listed(fresh)}, unused: {_listed(unused)}'


def _listed(names: Sequence[str]) -> str:
    return (', '.join(names[:3]) or 'none') + (f' and {len(names) - 3} more' if len(names) > 3 else '')


def _misfits(own: Mapping[str, Tensor], state: Mapping[str, Tensor], new: Sequence[str]) -> Iterator[str]:
    if own.keys().isdisjoint(state):
        yield f'not one name is the same ({next(iter(state))} in the file, {next(iter(own))} in the model)'
        return
    optional = {name for name in own if name not in state and any(fnmatchcase(name, pattern) for pattern in new)}
    optional |= {name for name in own if name in state and _resizable(name, own[name], state[name])}
    parts = {name.partition('.')[0] for name in own}
    compared = {name: tensor for name, tensor in own.items() if name not in optional}
    stored = {name: state[name] for name in state if name.partition('.')[0] in parts and name not in optional}
    yield from differences(compared, stored)


def _resizable(name: str, own: Tensor, stored: Tensor) -> bool:
    """Whether they are position embeddings of different image sizes."""
    is_position = name.rpartition('.')[2] == 'pos_embed' and own.dim() == stored.dim() == 3
    return is_position and own.shape[1] != stored.shape[1] and own.shape[2] == stored.shape[2]


def check_fits(model: nn.Module, checkpoint: dict, path: str | Path) -> None:
    """Raise :class:`UserError` unless a checkpoint has exactly a whole model's names, shapes and attention heads."""
    own = {name.removeprefix('module.'): tensor for name, tensor in model.state_dict().items()}
    found = [*differences(own, weights_of(checkpoint, path))]
    found += [*_other_heads(model, backbone_config(stored_config(checkpoint, path)))]
    if found:
        raise UserError(
            f'the checkpoint {path} is of another architecture than the config: {"; ".join(found)}; use the config it '
            'was trained with (a copy lies in its work_dir)'
        )


def _other_heads(module: nn.Module, config: Mapping | None) -> Iterator[str]:
    """In words, if the number of attention heads differs: the shapes of the weights do not tell it."""
    architecture = (config or {}).get('arch')
    trained = architecture.get('num_heads') if isinstance(architecture, Mapping) else None
    own = next((child.num_heads for child in module.modules() if hasattr(child, 'num_heads')), None)
    if isinstance(trained, int) and own not in (None, trained):
        yield f'it was trained with {trained} attention heads, the model has {own}'
