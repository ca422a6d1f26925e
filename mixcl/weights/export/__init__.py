"""Export of a backbone to other libraries: one module per format, which writes a folder and says how to load it."""

import mixcl.quiet_imports
from mixcl.weights.export.base import Exported, Loading, Preprocessing
from mixcl.weights.export.model_card import model_card
from mixcl.weights.export.to_huggingface import write_huggingface
from mixcl.weights.export.to_onnx import write_onnx
from mixcl.weights.export.to_timm import write_timm
from mixcl.weights.export.to_torchvision import write_torchvision

WRITERS = dict(
    timm=write_timm,
    torchvision=write_torchvision,
    huggingface=write_huggingface,
    onnx=write_onnx,
)
"""Writers by the name that ``--to`` takes: ``write(exported, folder)`` fills a folder and returns the ways to load it.

Writers raise :class:`~mixcl.errors.UserError` if the other library has no such model.
"""
