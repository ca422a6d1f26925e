"""What is exported, and how the files are loaded elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from mixcl.errors import UserError
from mixcl.weights.encoder import Encoder
from mixcl.weights.layouts import translated


@dataclass(frozen=True)
class Preprocessing:
    """What images go through: the short side is resized, the middle cut out and normalised.

    Attributes:
        channels: of an image; three are red, green, blue.
        size: of the cut-out, in pixels.
        resize: of the short side before, in pixels.
        interpolation: 'bicubic' or 'bilinear'.
        mean, std: per channel, of values from 0 to 1.
    """

    channels: int
    size: int
    resize: int
    interpolation: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True)
class Exported:
    """A backbone to be written.

    Attributes:
        encoder: in evaluation mode, float32, on the CPU; the files must give its features elsewhere, too.
        config: that its backbone was built from.
        preprocessing: of its images.
    """

    encoder: Encoder
    config: Mapping[str, Any]
    preprocessing: Preprocessing

    @property
    def backbone(self) -> Any:
        """The backbone of the encoder."""
        return self.encoder.backbone

    def renamed(self, layout: str) -> dict[str, Tensor]:
        """The weights of a vision transformer or ResNet by another library's names, or the error that it has none."""
        renamed, absent = translated(self.backbone.state_dict(), 'mmpretrain', layout)
        if absent:
            raise self.refusal(layout, f'it has no name for {absent[0]}')
        return renamed

    def refusal(self, target: str, reason: str, *others: str) -> UserError:
        """The error that says why a format cannot take it, and that ``others``, its own library or ONNX can."""
        name = type(self.backbone).__name__
        own = dict(TimmBackbone=['timm'], TorchvisionBackbone=['torchvision']).get(name, [])
        choices = [other for other in (*own, *others, 'onnx') if other != target]
        advice = f'choose `to={" or ".join(choices)}` instead' if choices else 'mixcl.load_backbone loads it'
        source = f'{self.encoder.source} ({self.encoder.side} encoder)'
        return UserError(f'the {name} in {source} cannot be exported to {target}: {reason}; {advice}')


@dataclass(frozen=True)
class Loading:
    """One way to load what was written.

    Attributes:
        libraries: modules that have to be installed.
        code: Python lines, in which PATH stands for the folder, that make ``features`` (B, D) of ``images``.
    """

    libraries: tuple[str, ...]
    code: str

    def lines(self, folder: Path) -> str:
        """The lines for a folder."""
        return self.code.strip().replace('PATH', str(folder).replace('\\', '\\\\').replace("'", "\\'"))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(f'{json.dumps(content, indent=2)}\n', encoding='utf-8')


def write_safetensors(folder: Path, state: Mapping[str, Tensor]) -> None:
    """Write ``model.safetensors``; parts of one tensor, which the format refuses, are copied."""
    copies = {name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in state.items()}
    save_file(copies, folder / 'model.safetensors', metadata={'format': 'pt'})
