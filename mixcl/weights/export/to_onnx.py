"""Export to ONNX."""

import contextlib
import io
import logging
import warnings
from pathlib import Path
from typing import Any

import torch

from mixcl.errors import UserError
from mixcl.weights.export.base import Exported, Loading

RUN = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession('PATH/model.onnx')
features = session.run(['features'], {'images': numpy.asarray(images)})[0]
"""


def write_onnx(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``model.onnx``: any number of ``images`` (B, C, H, W), float32, of one size to ``features`` (B, D)."""
    given = exported.preprocessing
    images = torch.zeros(2, given.channels, *given.size)
    batch = ({0: torch.export.Dim('batch')},)
    names: dict[str, Any] = dict(input_names=['images'], output_names=['features'], dynamic_shapes=batch)
    logging.disable(logging.WARNING)  # the exporter reports operators that are not used
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter('ignore')
            model = exported.encoder
            torch.onnx.export(model, (images,), folder / 'model.onnx', dynamo=True, external_data=False, **names)
    except ImportError as error:
        raise UserError(f'`to=onnx` needs what `pip install onnx onnxscript` installs ({error})') from error
    except OSError:
        raise
    except Exception as error:  # the exporter raises whatever its passes raise
        raise exported.refusal('onnx', ' '.join(str(error).split())[:200]) from error
    finally:
        logging.disable(logging.NOTSET)
    return (Loading(('onnxruntime',), RUN),)
