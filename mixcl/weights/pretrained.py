"""The backbone in a checkpoint of any library: reading it, and loading it into a model's backbone or refusing it."""

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mmengine.config import Config
from mmengine.logging import print_log
from torch import Tensor, nn

from mixcl.backbones.low_rank import merged_updates
from mixcl.errors import UserError
from mixcl.weights.attention_heads import head_mismatch, heads_in_config, usual_heads
from mixcl.weights.backbone_config import backbone_config, image_shape
from mixcl.weights.checkpoint import mismatches, non_finite, read_checkpoint, weights_of
from mixcl.weights.fitting import adapt, grid_mismatch, inseparable, renamed_for
from mixcl.weights.formats import ENCODERS, format_of, parts_of
from mixcl.weights.named import timm_config, weights_named
from mixcl.weights.run_state import checkpoint_in
from mixcl.weights.stored_config import meta_of, stored_config

COUNTER = '.num_batches_tracked'
"""Suffix of batch normalisation's counters, which are rarely of use, and not in torchvision's oldest files."""


@dataclass(frozen=True)
class PretrainedBackbone:
    """Weights of a backbone, and what the checkpoint says about their origin.

    Attributes:
        source: the file.
        encoder: which encoder of the file, 'online' or 'target' (the momentum encoder or teacher).
        state: the weights, by the file's names within the backbone, on the CPU.
        config: config that the backbone was trained with; None if the file carries none.
        backbone: :func:`backbone_config` of ``config``.
        epochs: number of epochs that were over when the file was saved; None if unknown.
        format: who writes such files.
        rest: what else the file holds, part by part.
        num_heads: number of attention heads, if a config beside the file has it; no weight shows it.
        image_shape: (height, width) of the images, up to a factor, if a config in or beside the file has it.
    """

    source: str
    encoder: str
    state: dict[str, Tensor]
    config: Config | None = None
    backbone: dict | None = None
    epochs: int | None = None
    format: str = 'mixcl or mmpretrain'
    rest: tuple[str, ...] = ()
    num_heads: int | None = None
    image_shape: tuple[int, int] | None = None


def read_pretrained(path: str | Path, encoder: str | Sequence[str] = 'online') -> PretrainedBackbone:
    """Read the backbone in a file of weights of any library that docs/weights.md lists.

    Args:
        path: a checkpoint of mixcl or mmpretrain (pretraining, classifier, detector), a file of timm, torchvision or
            Hugging Face, a folder of timm or Hugging Face, or a file that authors of contrastive methods released.
        encoder: 'online' or 'target'; the latter exists in pretraining checkpoints of methods with an EMA encoder.
            From several names, the first that the file has is taken.

    Raises:
        UserError: if the file cannot be read, holds no weights, or has no such encoder.
    """
    path, sides = checkpoint_in(path), (encoder,) if isinstance(encoder, str) else tuple(encoder)
    encoders = encoders_in(read_checkpoint(path), path)
    for name in sides:
        if name in encoders:
            return encoders[name]
    other = next(iter(encoders.values()))
    raise UserError(
        f'{path} has no {" or ".join(sides)} encoder (it is of the format of {other.format}; only pretraining '
        f'checkpoints of methods with an EMA encoder have both); use `encoder={other.encoder}`'
    )


def encoders_in(checkpoint: dict, path: str | Path) -> dict[str, PretrainedBackbone]:
    """Return the encoders in a checkpoint read from a file: 'online', 'target' or both, in this order.

    Raises:
        UserError: if the checkpoint holds no weights.
    """
    weights = weights_of(checkpoint, path)
    kind, network, encoders = format_of(weights), weights_named(path).network, {}
    config = stored_config(checkpoint, path) or timm_config(network, path)
    epochs = meta_of(checkpoint).get('epoch', checkpoint.get('epoch'))
    backbone = backbone_config(config)
    for encoder in ENCODERS:
        prefix = getattr(kind, encoder)
        chosen = [name for name in weights if prefix is not None and name.startswith(prefix)]
        if chosen:
            encoders[encoder] = PretrainedBackbone(
                source=str(path),
                encoder=encoder,
                state={name.removeprefix(prefix): weights[name] for name in chosen},
                config=config,
                backbone=backbone,
                epochs=epochs if isinstance(epochs, int) else None,
                format=kind.name,
                rest=tuple(parts_of(name for name in weights if not name.startswith(prefix))),
                num_heads=network.get('num_attention_heads'),
                image_shape=image_shape(backbone or network),
            )
    return encoders


def load_pretrained(module: nn.Module, pretrained: PretrainedBackbone, new: Sequence[str] = ()) -> str:
    """Load a pretrained backbone, which must have every tensor of the model but counters of batch normalisation.

    Names of other libraries are translated. Position embeddings of another grid of patches are resized (bicubic), or
    computed anew if they are fixed. The kernels of a first convolution of three channels are summed for one channel and
    repeated for more, as timm does.
    Low-rank updates are added to the weights of a model that has none.
    Whole parts that the model does not have, such as a head, are left out. More blocks than the model has, or more
    inside a block, are an error.

    Args:
        module: the backbone, or a module with a ``backbone`` (:class:`~mixcl.evaluation.models.FrozenFeatures`).
        pretrained: the weights.
        new: patterns of names that the file need not have, for example ``'*.rel_pos_*'``.

    Returns:
        Which weights were loaded, new, left out or changed, in words.

    Raises:
        UserError: if weights are missing, not finite, of another shape, or of a deeper network, if the number of
            attention heads differs from that of a config in or beside the file, or if nothing says which grid positions
            are of. If only convention says how many heads such files have, a difference is a warning.
    """
    while isinstance(inner := getattr(module, 'backbone', None), nn.Module):
        module = inner
    of_model = module.state_dict()
    weights = pretrained.state if any('.lora_' in name for name in of_model) else merged_updates(pretrained.state)
    state, unused = renamed_for(of_model, weights)
    num_heads = pretrained.num_heads or heads_in_config(pretrained.backbone)
    matched = sum(name in state for name in of_model)
    changes, unclear = adapt(module, state, pretrained.image_shape)
    lost = inseparable(of_model, weights, unused)
    if reason := '; '.join([*_misfits(of_model, state, lost, new), *unclear, *head_mismatch(module, num_heads)]):
        if 2 * matched < len(of_model):
            example = max(weights, key=lambda name: name.count('.'))
            reason += f'; names in the file begin with {", ".join(parts_of(weights)[:5])}, such as {example}'
        raise UserError(
            f'the {pretrained.encoder} encoder in {pretrained.source} (format: {pretrained.format}) does not fit the '
            f'backbone of the config, a {type(module).__name__}: {matched} of {len(of_model)} names match; {reason}; '
            'give a checkpoint and a config of the same architecture'
        )
    broken = non_finite({name: state[name] for name in of_model if name in state})
    if broken:
        raise UserError(
            f'the {pretrained.encoder} encoder in {pretrained.source} holds infinity or NaN in {len(broken)} tensors, '
            f'for example {broken[0]}: its run diverged or the file is damaged; take an earlier checkpoint'
        )
    module.load_state_dict(state, strict=False)
    usual = None if num_heads else usual_heads(module, pretrained.format)
    for warning in head_mismatch(module, usual, f'vision transformers of {pretrained.format} usually have'):
        _warn_once(f'{pretrained.source}: {warning}')
    summary = [
        f'format: {pretrained.format}',
        f'{matched} tensors loaded',
        f'new: {_listed([name for name in of_model if name not in state and not name.endswith(COUNTER)])}',
        f'left out: {", ".join([*parts_of(unused), *pretrained.rest]) or "none"}',
        *changes,
    ]
    return '; '.join(summary)


@functools.cache
def _warn_once(message: str) -> None:
    print_log(message, 'current', logging.WARNING)  # a run loads twice, first only to check the fit


def _listed(names: Sequence[str]) -> str:
    return (', '.join(names[:3]) or 'none') + (f' and {len(names) - 3} more' if len(names) > 3 else '')


def _misfits(
    of_model: Mapping[str, Tensor], state: Mapping[str, Tensor], lost: Sequence[str], new: Sequence[str]
) -> Iterator[str]:
    if of_model.keys().isdisjoint(state):
        yield f'{next(iter(state))} in the file, {next(iter(of_model))} in the model'
        return
    optional = {name for name in of_model if name not in state and any(fnmatchcase(name, pattern) for pattern in new)}
    optional |= {name for name in of_model.keys() - state if name.endswith(COUNTER)}
    compared = {name: tensor for name, tensor in of_model.items() if name not in optional}
    yield from mismatches(compared, {name: state[name] for name in compared if name in state})
    if lost:
        yield (
            f'the model has no place for {len(lost)} tensors of the file, for example {lost[0]}; without them the '
            'features would differ'
        )


def check_fits(model: nn.Module, checkpoint: dict, path: str | Path) -> None:
    """Raise :class:`UserError` unless a checkpoint has exactly a whole model's names, shapes, heads and grid."""
    of_model = {name.removeprefix('module.'): tensor for name, tensor in model.state_dict().items()}
    found = [*mismatches(of_model, weights_of(checkpoint, path))]
    backbone = backbone_config(stored_config(checkpoint, path))
    found += [*head_mismatch(model, heads_in_config(backbone)), *grid_mismatch(model, image_shape(backbone))]
    if found:
        raise UserError(
            f'the checkpoint {path} is of another architecture than the config: {"; ".join(found)}; use the config it '
            'was trained with (a copy lies in its work_dir)'
        )
