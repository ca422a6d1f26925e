"""Loading a pretrained backbone into a model's, or refusing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mmengine.config import Config
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights.finite import non_finite
from mixcl.weights.pretrained import PretrainedBackbone, backbone_config

MAX_NAMES = 3


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
        module: the backbone, or :class:`~mixcl.evaluation.models.FrozenFeatures` over it.
        pretrained: the weights.
        new: patterns of names that the file need not have, for example ``'*.rel_pos_*'``.

    Raises:
        UserError: if weights are missing, of another shape, or of a deeper network, or the number of attention heads
            differs, which no shape would tell, or weights are no finite numbers.
    """
    while isinstance(getattr(module, 'backbone', None), nn.Module):
        module = module.backbone
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
    common = [name for name in own if name in state]
    if not common:
        return f'not one name is the same ({next(iter(state))} in the file, {next(iter(own))} in the model)'
    differing = [name for name in common if own[name].shape != state[name].shape and not _resizable(name, own, state)]
    if differing:
        name = differing[0]
        return (
            f'{len(differing)} of {len(own)} tensors have another shape, for example {name} is '
            f'{tuple(state[name].shape)} in the file and {tuple(own[name].shape)} in the model'
        )
    missing = [name for name in own if name not in state and not any(fnmatchcase(name, pattern) for pattern in new)]
    if missing:
        return f'{len(missing)} of {len(own)} tensors are not in the file, for example {missing[0]}'
    parts = {name.partition('.')[0] for name in own}
    surplus = [name for name in state if name not in own and name.partition('.')[0] in parts]
    if surplus:
        return f'the file has {len(surplus)} tensors more in the same parts, for example {surplus[0]}'
    return None


def _resizable(name: str, own: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> bool:
    is_position = name.rpartition('.')[2] == 'pos_embed'
    return is_position and own[name].dim() == state[name].dim() == 3 and own[name].shape[2] == state[name].shape[2]


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


def _listed(names: Sequence[str]) -> str:
    if not names:
        return 'none'
    more = f' and {len(names) - MAX_NAMES} more' if len(names) > MAX_NAMES else ''
    return ', '.join(names[:MAX_NAMES]) + more
