"""Renaming of the weights of a network from one library's names to another's."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mixcl.weights.layouts import resnet_names, vit_names


@dataclass(frozen=True)
class Naming:
    """Names that a library gives the weights of a network.

    Attributes:
        marker: a name that files of this kind have and others do not.
        pairs: mmpretrain's name (left) and the library's (right) of parameters, or of modules that contain them.
            Several names on the right hold parts (along the first dimension) of the tensor on the left.
    """

    marker: str
    pairs: tuple[tuple[str, str | tuple[str, ...]], ...]

    def to_common(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights under mmpretrain's names, without those that the table does not have (heads)."""
        parts: defaultdict[str, dict[int, Tensor]] = defaultdict(dict)
        for name, tensor in state.items():
            for common, other, number, _ in self._rows():
                if renamed := _renamed(name, other, common):
                    parts[renamed][number] = tensor
        return {
            name: torch.cat([part[number] for number in sorted(part)]) if len(part) > 1 else next(iter(part.values()))
            for name, part in parts.items()
        }

    def from_common(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights under the library's names; the inverse of :meth:`to_common`."""
        found = {}
        for name, tensor in state.items():
            for common, other, number, count in self._rows():
                if renamed := _renamed(name, common, other):
                    found[renamed] = tensor.chunk(count)[number] if count > 1 else tensor
        return found

    def _rows(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield mmpretrain's name, the library's, which part that is, and of how many."""
        for common, others in self.pairs:
            names = (others,) if isinstance(others, str) else others
            yield from ((common, other, number, len(names)) for number, other in enumerate(names))


def _renamed(name: str, old: str, new: str) -> str | None:
    """Rename ``name`` by the pattern ``new`` if ``old`` names this parameter, or a module that contains it; else None.

    >>> _renamed('blocks.3.norm1.weight', 'blocks.*.norm1', 'layers.*.ln1')
    'layers.3.ln1.weight'
    """
    match = re.fullmatch(re.escape(old).replace(r'\*', r'(\d+)') + r'(\..+)?', name)
    if match is None:
        return None
    number, rest = (match.group(1), match.group(2)) if '*' in old else ('', match.group(1))
    return new.replace('*', number) + (rest or '')


RESNET = Naming('layer1.0.conv1.weight', resnet_names.TORCHVISION)

LAYOUTS = dict(
    mmpretrain=dict(
        vit=Naming('layers.0.attn.qkv.weight', tuple((own, own) for own, _ in vit_names.TIMM)), resnet=RESNET
    ),
    timm=dict(vit=Naming('blocks.0.attn.qkv.weight', vit_names.TIMM), resnet=RESNET),
    torchvision=dict(
        vit=Naming('encoder.layers.encoder_layer_0.self_attention.in_proj_weight', vit_names.TORCHVISION),
        resnet=RESNET,
    ),
    huggingface=dict(
        vit=Naming('encoder.layer.0.attention.attention.query.weight', vit_names.HUGGING_FACE),
        resnet=Naming('encoder.stages.0.layers.0.layer.0.convolution.weight', resnet_names.HUGGING_FACE),
    ),
    aps=dict(vit=Naming('transformer.0.attn.qkv.weight', vit_names.APS)),
    sequential=dict(resnet=Naming('4.0.conv1.weight', resnet_names.SEQUENTIAL)),
)
"""Names that each library has for a network."""


def layout_of(state: Mapping[str, Tensor]) -> str | None:
    """Return the library whose names the weights of a backbone have; None for networks not known here.

    ResNets of torchvision, timm and mmpretrain have the same names, and count as 'mmpretrain'.
    """
    return next((name for name, kinds in LAYOUTS.items() if any(one.marker in state for one in kinds.values())), None)


WRAPPERS = ('', 'model.', 'timm_model.', 'vit.', 'resnet.')
"""Prefixes of a whole backbone in mixcl's and mmpretrain's wrappers, and in Hugging Face's models with heads."""


def without_wrapper(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], str]:
    """Return the weights of a backbone by the names within it, and the prefix that was removed."""
    for prefix in WRAPPERS:
        inner = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        if inner and (layout_of(inner) or (prefix and len(inner) == len(state))):
            return inner, prefix
    return dict(state), ''


def translated(state: Mapping[str, Tensor], layout: str, wanted: str) -> tuple[dict[str, Tensor], list[str]]:
    """Rename the weights of a backbone, whose names have no prefix, from one of :data:`LAYOUTS` to another.

    Returns:
        The weights, and the names of those that one of the two layouts does not have, such as heads.
    """
    kind = next((kind for kind, naming in LAYOUTS[layout].items() if naming.marker in state), '')
    if kind not in LAYOUTS[wanted]:
        return {}, list(state)
    own, other = LAYOUTS[layout][kind], LAYOUTS[wanted][kind]
    left_out = [name for name in state if not other.from_common(own.to_common({name: state[name]}))]
    return other.from_common(own.to_common(state)), left_out
