"""Forward passes of a backbone and a head over named streams of images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from mixcl.encoders.sync_batch_norm import has_batch_norm
from mixcl.errors import UserError
from mixcl.heads.mlp import pooled


@dataclass(frozen=True)
class Inputs:
    """The streams of a step, as an encoder sees them.

    Attributes:
        images: (R, 3, H, W) by stream name.
        tokens: (R, n) indices of the patches to keep, for streams that keep some only.
        joint: groups of streams that share a forward pass and its batch-norm statistics; the others have their own.
        key: (seed, step) of the step, for encoders that draw random numbers which all processes share.
    """

    images: dict[str, Tensor]
    tokens: dict[str, Tensor] = field(default_factory=dict)
    joint: Sequence[Sequence[str]] = ()
    key: tuple[int, int] = (0, 0)

    def only(self, names: Iterable[str]) -> 'Inputs':
        """The same inputs for some of the streams only, in the same order."""
        wanted = set(names)
        return replace(self, images={name: batch for name, batch in self.images.items() if name in wanted})

    def groups(self) -> list[list[str]]:
        """The streams, grouped by shared forward passes."""
        joint = [[name for name in self.images if name in group] for group in self.joint]
        together = {name for group in joint for name in group}
        return [group for group in joint if group] + [[name] for name in self.images if name not in together]


def backbone_features(backbone: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    """Encode every stream once: (R, C) features by stream name; maps (R, C, h, w) are averaged over space.

    A backbone with batch normalisation encodes group by group, because the rows of a forward pass share statistics.
    Any other backbone takes all streams of one shape as one batch, which is the same function and faster.
    """
    groups = inputs.groups() if has_batch_norm(backbone) else [list(inputs.images)]
    features = {}
    for names in (part for group in groups for part in _of_one_shape(group, inputs)):
        images = torch.cat([inputs.images[name] for name in names])
        if names[0] in inputs.tokens:
            outputs = backbone(images, tokens=torch.cat([inputs.tokens[name] for name in names]))
        else:
            outputs = backbone(images)
        features.update(_split(pooled_output(outputs, backbone), names, [len(inputs.images[name]) for name in names]))
    return {name: features[name] for name in inputs.images}


def project(head: nn.Module, features: dict[str, Tensor], inputs: Inputs) -> dict[str, Tensor]:
    """Send every stream through a head; a group of joint streams shares its batch-norm statistics."""
    outputs = {}
    for names in inputs.only(features).groups():
        together = head(torch.cat([features[name] for name in names]))
        outputs.update(_split(together, names, [len(features[name]) for name in names]))
    return {name: outputs[name] for name in features}


def _of_one_shape(names: list[str], inputs: Inputs) -> list[list[str]]:
    parts: dict[tuple, list[str]] = {}
    for name in names:
        kept = inputs.tokens[name].shape[1:] if name in inputs.tokens else None
        parts.setdefault((inputs.images[name].shape[1:], kept), []).append(name)
    return list(parts.values())


def _split(together: Tensor, names: list[str], sizes: list[int]) -> dict[str, Tensor]:
    return dict(zip(names, together.split(sizes), strict=True))


def pooled_output(outputs: Tensor | Sequence[Tensor], backbone: nn.Module) -> Tensor:
    """(B, C) of the last output of a backbone: a class token, or a map that is averaged over space.

    Raises:
        UserError: if it is one vector for every token.
    """
    last = last_output(outputs)
    if last.dim() == 3:
        raise UserError(
            f'{type(backbone).__name__} gives one vector for every token, of shape {tuple(last.shape)}, but '
            "a backbone must give one for every image; choose out_type='cls_token', or TimmBackbone for models of timm"
        )
    return pooled(last)


def last_output(outputs: Tensor | Sequence[Tensor]) -> Tensor:
    """The output of a backbone, or the last of several."""
    return outputs if isinstance(outputs, Tensor) else outputs[-1]
