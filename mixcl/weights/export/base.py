"""The exported encoder, the shape of its backbone, and code that loads the files elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mmpretrain.models import ResNet, ResNet_CIFAR, VisionTransformer
from safetensors.torch import save_file
from torch import Tensor

from mixcl.errors import UserError
from mixcl.weights.encoder import Encoder
from mixcl.weights.layouts import translated


@dataclass(frozen=True)
class Preprocessing:
    """Preprocessing of images: the short side is resized, the centre cropped and normalised.

    Attributes:
        channels: number of channels; three are red, green, blue.
        size: (height, width) of the crop, in pixels.
        resize: short side before the crop, in pixels.
        interpolation: 'bicubic' or 'bilinear'.
        mean, std: per channel, of values from 0 to 1.
    """

    channels: int
    size: tuple[int, int]
    resize: int
    interpolation: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True)
class Exported:
    """A backbone to be written.

    Attributes:
        encoder: encoder in evaluation mode, float32, on the CPU; the files must give the same features elsewhere.
        config: config that the backbone was built from.
        preprocessing: preprocessing of the encoder's images.
    """

    encoder: Encoder
    config: Mapping[str, Any]
    preprocessing: Preprocessing

    @property
    def backbone(self) -> Any:
        return self.encoder.backbone

    def tokens_of(self, output: str) -> str:
        """Return a line of Python that makes ``tokens`` (B, h, w, C) of the last output of other libraries' models.

        ``output`` is Python for that output, which has the layout of timm and transformers: a token for each patch
        after those of no patch, or a map. Of the few models of timm that have neither, the line is empty.
        """
        given, model = self.preprocessing, getattr(self.backbone, 'model', None)
        blank = torch.zeros(1, given.channels, *given.size)
        try:
            with torch.no_grad():
                grid = tuple(self.encoder.tokens(blank).shape[1:3])
                last = blank if model is None else model.forward_features(blank)
        except Exception:  # a model of two branches, for example; its features are exported all the same
            return ''
        if model is None:
            extra = self.backbone.num_extra_tokens if isinstance(self.backbone, VisionTransformer) else None
        else:
            extra = last.shape[1] - grid[0] * grid[1] if last.dim() == 3 else None
        if extra is not None:
            return f'tokens = {output}[:, {extra}:].unflatten(1, {grid})'
        is_last = model is not None and last.shape[1:3] == grid
        return f'tokens = {output}' + ('' if is_last else '.permute(0, 2, 3, 1)')

    def renamed(self, layout: str) -> dict[str, Tensor]:
        """Return the weights of a vision transformer or ResNet by another library's names; refuse if it has none."""
        renamed, absent = translated(self.backbone.state_dict(), 'mmpretrain', layout)
        if absent:
            raise self.refusal(layout, f'it has no name for {absent[0]}')
        return renamed

    def refusal(self, target: str, reason: str, *others: str) -> UserError:
        """Return the error that a format cannot take the backbone, and that ``others``, its own library or ONNX can."""
        name = type(self.backbone).__name__
        own = dict(TimmBackbone=['timm'], TorchvisionBackbone=['torchvision']).get(name, [])
        choices = [other for other in (*own, *others, 'onnx') if other != target]
        advice = f'choose `to={" or ".join(choices)}` instead' if choices else 'mixcl.load_backbone loads it'
        source = f'{self.encoder.source} ({self.encoder.side} encoder)'
        return UserError(f'the {name} in {source} cannot be exported to {target}: {reason}; {advice}')


@dataclass(frozen=True)
class Loading:
    """One way to load the written files.

    Attributes:
        libraries: modules that have to be installed.
        code: Python lines that make ``features`` (B, D), and perhaps ``tokens`` (B, h, w, C), from ``images``; PATH
            stands for the folder.
    """

    libraries: tuple[str, ...]
    code: str

    def lines(self, folder: Path, repository: str | None = None) -> str:
        """Return the code for a folder, or for a repository of the hub."""
        if repository:
            return self.code.strip().replace('local-dir:PATH', f'hf-hub:{repository}').replace('PATH', repository)
        return self.code.strip().replace('PATH', str(folder).replace('\\', '\\\\').replace("'", "\\'"))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(f'{json.dumps(content, indent=2)}\n', encoding='utf-8')


def write_safetensors(folder: Path, state: Mapping[str, Tensor]) -> None:
    """Write ``model.safetensors``; copy tensors, because the format refuses parts of one tensor."""
    copies = {name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in state.items()}
    save_file(copies, folder / 'model.safetensors', metadata={'format': 'pt'})


@dataclass(frozen=True)
class ViTShape:
    """Shape of a plain vision transformer.

    ``width`` and ``hidden`` are channels of a token and in MLPs, ``size`` and ``patch`` sides in pixels.
    """

    width: int
    depth: int
    heads: int
    hidden: int
    patch: int
    size: int
    qkv_bias: bool
    eps: float
    averages: bool  # whether the feature is the mean of the patches after the final norm, else the class token


def vit_shape(exported: Exported, target: str) -> ViTShape | None:
    """Return the shape of a vision transformer with mmpretrain's names, None for others; refuse unusual ones."""
    vit = exported.backbone
    if not isinstance(vit, VisionTransformer):
        return None
    (rows, columns), (patch, width) = vit.patch_resolution, vit.patch_embed.projection.kernel_size
    plain = vit.out_type in ('cls_token', 'featmap') and vit.final_norm
    if not plain or rows != columns or patch != width:
        reason = (
            'its output is not the class token or the patches after the final norm, or its images or patches are not '
            'square'
        )
        raise exported.refusal(target, reason)
    block: Any = vit.layers[0]
    return ViTShape(
        width=vit.embed_dims,
        depth=len(vit.layers),
        heads=block.attn.num_heads,
        hidden=block.ffn.feedforward_channels,
        patch=patch,
        size=rows * patch,
        qkv_bias=block.attn.qkv.bias is not None,
        eps=vit.ln1.eps,
        averages=vit.out_type == 'featmap',
    )


def plain_resnet(exported: Exported, target: str, small_stem: bool = False) -> Any:
    """Return the backbone if it is a ResNet of mmpretrain, None for others; refuse unusual ones."""
    resnet = exported.backbone
    if not isinstance(resnet, ResNet):
        return None
    if isinstance(resnet, ResNet_CIFAR) and not small_stem:
        reason = f'{target} has no ResNet with the stem for small images (3x3, without stride and pooling)'
        raise exported.refusal(target, reason, 'torchvision')
    usual = resnet.base_channels == resnet.stem_channels == 64 and tuple(resnet.strides) == (1, 2, 2, 2)
    if not usual or resnet.deep_stem or type(resnet) not in (ResNet, ResNet_CIFAR):
        raise exported.refusal(target, 'its stem, widths or strides are not those of a plain ResNet')
    return resnet
