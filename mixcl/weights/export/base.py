"""What is exported, and how the file is loaded elsewhere."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.heads.mlp import pooled
from mixcl.weights.layouts import to_layout

SAFETENSORS = 'model.safetensors'


@dataclass(frozen=True)
class Preprocessing:
    """What an image goes through before the backbone: the short side is resized, the middle cut out and normalised.

    Attributes:
        channels: of an image; three are red, green, blue.
        size: of the cut-out, in pixels.
        resize: of the short side before, in pixels.
        interpolation: 'bicubic' or 'bilinear'.
        mean: per channel, of values from 0 to 1.
        std: per channel, of values from 0 to 1.
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
        backbone: in evaluation mode, float32, on the CPU.
        config: of the backbone, as mixcl builds it, without what only its training needs.
        preprocessing: of its images.
        source: the file that it comes from, for messages.
    """

    backbone: nn.Module
    config: Mapping[str, Any]
    preprocessing: Preprocessing
    source: str

    def outputs(self, images: Tensor) -> Tensor:
        """The last output of images (B, C, H, W): (B, D), or maps (B, D, h, w)."""
        outputs = self.backbone(images)
        return outputs if isinstance(outputs, Tensor) else outputs[-1]

    def features(self, images: Tensor) -> Tensor:
        """(B, D) of images (B, C, H, W), normalised: what a loaded file must give, too."""
        return pooled(self.outputs(images))

    def refusal(self, target: str, reason: str, others: str = 'onnx') -> UserError:
        """The error that says why it cannot be written to a format, and which others can."""
        name = type(self.backbone).__name__
        return UserError(
            f'the {name} in {self.source} cannot be exported to {target}: {reason}; choose --to {others} instead'
        )


@dataclass(frozen=True)
class Loading:
    """One way to load what was written.

    Attributes:
        libraries: modules that have to be installed.
        code: Python lines, in which PATH stands for the folder, that make ``features`` (B, D) of ``images``.
        expected: what those features must be; None for those of the backbone itself.
    """

    libraries: tuple[str, ...]
    code: str
    expected: Callable[[Tensor], Tensor] | None = None

    def lines(self, folder: Path) -> str:
        """The lines for a folder."""
        escaped = str(folder).replace('\\', '\\\\').replace("'", "\\'")
        return self.code.strip().replace('PATH', escaped)


def renamed(exported: Exported, layout: str) -> dict[str, Tensor]:
    """The weights of a vision transformer or ResNet by another library's names.

    Raises:
        UserError: if it has weights that the library has no names for.
    """
    try:
        return to_layout(exported.backbone.state_dict(), layout)
    except ValueError as error:
        raise exported.refusal(layout, str(error), 'mmpretrain or onnx') from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file as Hugging Face's libraries do."""
    path.write_text(f'{json.dumps(content, indent=2)}\n', encoding='utf-8')


def write_safetensors(folder: Path, state: Mapping[str, Tensor]) -> None:
    """Write ``model.safetensors``."""
    # The format refuses views of a common storage, such as query, key and value of one matrix.
    copies = {name: value.detach().clone().contiguous() for name, value in state.items()}
    save_file(copies, folder / SAFETENSORS, metadata={'format': 'pt'})


def write_torch(path: Path, state: Mapping[str, Tensor]) -> None:
    """Write a state dict for libraries that read no safetensors."""
    torch.save({name: value.detach().clone() for name, value in state.items()}, path)
