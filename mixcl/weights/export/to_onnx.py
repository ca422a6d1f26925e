"""ONNX."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.weights.export.base import Exported, Loading

RUN = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession('PATH/model.onnx')
features = session.run(['features'], {'images': numpy.asarray(images)})[0]
"""


class _Features(nn.Module):
    def __init__(self, exported: Exported) -> None:
        super().__init__()
        self.backbone = exported.backbone  # so that its weights are seen
        self.features = exported.features

    def forward(self, images: Tensor) -> Tensor:
        return self.features(images)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says of operators and rewritings that no user can change."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter('ignore')
            yield
    finally:
        logging.disable(logging.NOTSET)


def write_onnx(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``model.onnx``: ``images`` (B, C, H, W) float32 of one size, any number, to ``features`` (B, D).

    Raises:
        UserError: if onnx is missing, or the backbone does what it cannot say.
    """
    given = exported.preprocessing
    images = torch.zeros(2, given.channels, given.size, given.size)
    try:
        with _quiet():
            torch.onnx.export(
                _Features(exported).eval(),
                (images,),
                folder / 'model.onnx',
                input_names=['images'],
                output_names=['features'],
                dynamic_shapes=({0: torch.export.Dim('batch')},),
                external_data=False,
                dynamo=True,
            )
    except ImportError as error:
        raise UserError(f'--to onnx needs what `pip install onnx onnxscript` installs ({error})') from error
    except Exception as error:  # it raises whatever its passes raise
        raise exported.refusal('onnx', ' '.join(str(error).split())[:200], 'timm') from error
    return (Loading(('onnxruntime',), RUN),)
