"""Forward passes of a backbone and a head over named streams of images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.heads.mlp import pooled
from mixcl.heads.sync_batch_norm import has_batch_norm

PATCHES = ' patches'


def patches_of(stream: str) -> str:
    """Return the name of the rows that are patch tokens of a stream."""
    return stream + PATCHES


def stream_of(rows: str) -> str:
    """Return the stream that rows of images or patches belong to."""
    return rows.removesuffix(PATCHES)


def level_of(rows: str) -> str:
    """Return what rows are by their name: 'image' or 'patch'."""
    return 'patch' if rows.endswith(PATCHES) else 'image'


@dataclass(frozen=True)
class Inputs:
    """Streams of a step as an encoder sees them, and the rows that it gives: images, patches, or both.

    Attributes:
        images: (R, 3, H, W) by stream name.
        tokens: (R, n) indices of the patches to keep, for streams that keep only some.
        masks: (R, h, w) bool, the patches that the backbone replaces by its mask token.
        patches: (Q,) int64 ``row * number of patches + patch``, for streams whose patch tokens are wanted.
        joint: groups of streams that share a forward pass and its batch-norm statistics; the others have their own.
        key: (seed, step) of the step, for encoders that draw random numbers which all processes share.
        silent: streams whose patch tokens alone are wanted.
    """

    images: dict[str, Tensor]
    tokens: dict[str, Tensor] = field(default_factory=dict)
    masks: dict[str, Tensor] = field(default_factory=dict)
    patches: dict[str, Tensor] = field(default_factory=dict)
    joint: Sequence[Sequence[str]] = ()
    key: tuple[int, int] = (0, 0)
    silent: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Names of all rows: of streams, and of their patches."""
        return [name for name in self.images if name not in self.silent] + list(map(patches_of, self.patches))

    def only(self, names: Iterable[str]) -> 'Inputs':
        """Return the same inputs for only some of the rows, in the same order."""
        wanted = set(names)
        patches = {name: cells for name, cells in self.patches.items() if patches_of(name) in wanted}
        images = {name: batch for name, batch in self.images.items() if name in wanted or name in patches}
        return replace(self, images=images, patches=patches, silent=frozenset(images.keys() - wanted))

    def groups(self, names: Iterable[str]) -> list[list[str]]:
        """Group names of rows by shared forward passes."""
        names = list(names)
        joint = [[name for name in names if name in group] for group in self.joint]
        together = {name for group in joint for name in group}
        return [group for group in joint if group] + [[name] for name in names if name not in together]


def backbone_features(backbone: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    """Encode every stream once: features (R, C) of streams and (Q, C) of patches, by the names of ``inputs``.

    Feature maps are averaged over space. A backbone with batch normalisation encodes group by group, because the rows
    of a forward pass share statistics. Any other backbone takes all streams of one shape as one batch, which is the
    same function and faster.
    """
    groups = inputs.groups(inputs.images) if has_batch_norm(backbone) else [list(inputs.images)]
    features = {}
    for names in (part for group in groups for part in _of_one_shape(group, inputs)):
        features.update(_encode(backbone, names, inputs))
    return {name: features[name] for name in inputs.names}


def _encode(backbone: nn.Module, names: list[str], inputs: Inputs) -> dict[str, Tensor]:
    """Encode streams in one forward pass."""
    images, sizes = joined([inputs.images[name] for name in names]), [len(inputs.images[name]) for name in names]
    seen = {}
    if names[0] in inputs.tokens:
        seen['tokens'] = joined([inputs.tokens[name] for name in names])
    masks = [inputs.masks[name] for name in names if name in inputs.masks]
    if masks:
        none = {name: masks[0].new_zeros(len(inputs.images[name]), *masks[0].shape[1:]) for name in names}
        seen['mask'] = torch.cat([(none | inputs.masks)[name] for name in names])
    if not any(name in inputs.patches for name in names):
        return _split(pooled_output(backbone(images, **seen), backbone), names, sizes)
    of_class, of_patches = last_output(backbone(images, **seen, out_type='raw')).tensor_split([1], dim=1)
    features = _split(of_class.squeeze(1), names, sizes)
    for name, tokens in _split(of_patches, names, sizes).items():
        if name in inputs.patches:
            features[patches_of(name)] = tokens.flatten(0, 1).index_select(0, inputs.patches[name])
    return features


def project(head: nn.Module, features: dict[str, Tensor], inputs: Inputs) -> dict[str, Tensor]:
    """Send all rows through a head; a group of joint streams shares its batch-norm statistics."""
    outputs = {}
    for names in inputs.groups(features):
        together = head(joined([features[name] for name in names]))
        outputs.update(_split(together, names, [len(features[name]) for name in names]))
    return {name: outputs[name] for name in features}


def joined(parts: list[Tensor]) -> Tensor:
    """Concatenate rows; a single part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _of_one_shape(names: list[str], inputs: Inputs) -> list[list[str]]:
    parts: dict[tuple, list[str]] = {}
    for name in names:
        kept = inputs.tokens[name].shape[1:] if name in inputs.tokens else None
        parts.setdefault((inputs.images[name].shape[1:], kept), []).append(name)
    return list(parts.values())


def _split(together: Tensor, names: list[str], sizes: list[int]) -> dict[str, Tensor]:
    return dict(zip(names, together.split(sizes), strict=True))


def pooled_output(outputs: Tensor | Sequence[Tensor], backbone: nn.Module) -> Tensor:
    """Return (B, C) from the last output of a backbone: a class token, or a map averaged over space.

    Raises:
        UserError: if the output is one vector for every token.
    """
    last = last_output(outputs)
    if last.dim() == 3:
        raise UserError(
            f'{type(backbone).__name__} gives one vector for every token, of shape {tuple(last.shape)}, but '
            "a backbone must give one for every image; choose out_type='cls_token', or TimmBackbone for models of timm"
        )
    return pooled(last)


def last_output(outputs: Tensor | Sequence[Tensor]) -> Tensor:
    """Return the output of a backbone, or the last of several."""
    return outputs if isinstance(outputs, Tensor) else outputs[-1]
