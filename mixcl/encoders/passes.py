"""Forward passes of a backbone and a head over the rows of a step."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mixcl.encoders.outputs import pooled_output
from mixcl.encoders.stream import RowsOf, Stream
from mixcl.encoders.tokens import encoded, resized
from mixcl.heads.sync_batch_norm import has_batch_norm


def backbone_features(backbone: nn.Module, rows: Mapping[RowsOf, Stream]) -> dict[RowsOf, Tensor]:
    """Encode every stream once: features (B, C) of its images, (Q, C) of its patches, whichever ``rows`` name.

    Feature maps are averaged over space. A backbone with batch normalisation encodes group by group, because the rows
    of a forward pass share statistics. Any other backbone takes all streams of one shape as one batch, which is the
    same function and faster.
    """
    streams = list({each.name: each for each in rows.values()}.values())
    groups = _grouped(sorted(streams, key=_group), _group) if has_batch_norm(backbone) else [streams]
    features: dict[RowsOf, Tensor] = {}
    for streams in (part for group in groups for part in _grouped(group, _shape)):
        features |= _encode(backbone, streams, rows)
    return {name: features[name] for name in rows}


def _encode(backbone: nn.Module, streams: list[Stream], rows: Mapping[RowsOf, Stream]) -> dict[RowsOf, Tensor]:
    """Encode streams in one forward pass."""
    images, hidden = joined([each.images for each in streams]), _hidden(streams)
    sizes = [len(each.images) for each in streams]
    names = [RowsOf(each.name) for each in streams]
    patches = [rows.get(RowsOf(each.name, 'patch')) for each in streams]
    if not any(patches):
        return _split(pooled_output(backbone(images, **hidden), backbone), names, sizes)
    of_images, of_cells = encoded(backbone, images, **hidden)
    features = _split(of_images, names, sizes)
    for wanted, tokens in zip(patches, of_cells.split(sizes), strict=True):
        if wanted is not None and wanted.cells is not None and wanted.cell_grid is not None:
            features[wanted.rows] = resized(tokens, wanted.cell_grid).flatten(0, 2).index_select(0, wanted.cells)
    return features


def _hidden(streams: list[Stream]) -> dict[str, Tensor]:
    """Return what hides patches of the images of some streams from a backbone, as its arguments."""
    tokens = [each.tokens for each in streams if each.tokens is not None]
    masks = [each.mask for each in streams if each.mask is not None]
    hidden = dict(tokens=joined(tokens)) if tokens else {}
    if masks:
        sizes = [(len(each.images), *masks[0].shape[1:]) for each in streams]
        every = [
            masks[0].new_zeros(size) if each.mask is None else each.mask
            for each, size in zip(streams, sizes, strict=True)
        ]
        hidden['mask'] = torch.cat(every).to(streams[0].images.device, non_blocking=True)
    return hidden


def project(head: nn.Module, features: Mapping[RowsOf, Tensor], rows: Mapping[RowsOf, Stream]) -> dict[RowsOf, Tensor]:
    """Send all features through a head; images, or patches, of a group of streams share its batch-norm statistics."""
    outputs: dict[RowsOf, Tensor] = {}
    for group in _grouped(sorted((rows[name] for name in features), key=_head_group), _head_group):
        names = [each.rows for each in group]
        together = head(joined([features[name] for name in names]))
        outputs |= _split(together, names, [len(features[name]) for name in names])
    return {name: outputs[name] for name in features}


def _group(stream: Stream) -> int:
    return stream.group


def _head_group(stream: Stream) -> tuple[bool, int]:
    return stream.cells is not None, stream.group


def _shape(stream: Stream) -> tuple:
    return stream.images.shape[1:], None if stream.tokens is None else stream.tokens.shape[1:]


def _grouped(streams: Iterable[Stream], kind: Callable[[Stream], Any]) -> list[list[Stream]]:
    groups: dict[Any, list[Stream]] = {}
    for each in streams:
        groups.setdefault(kind(each), []).append(each)
    return list(groups.values())


def joined(parts: list[Tensor]) -> Tensor:
    """Concatenate rows; a single part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _split(together: Tensor, names: list[RowsOf], sizes: list[int]) -> dict[RowsOf, Tensor]:
    return dict(zip(names, together.split(sizes), strict=True))
