"""Speed for nothing: convolutions whose channels lie last in memory."""

import torch
from mmpretrain.models import BaseClassifier
from torch import nn

from mixcl.algorithms import ContrastiveLearner
from mixcl.encoders.sync_batch_norm import has_batch_norm


def put_channels_last(model: nn.Module) -> None:
    """Lay the weights of a model of pretraining or classification out so, if its backbone is a convolutional one.

    Not a vision transformer's, whose only convolution would give its patches in the wrong order; nor a detector's,
    since operators of mmcv read the memory as it comes. Values and names stay.
    """
    backbone = getattr(model, 'backbone', None) if isinstance(model, (ContrastiveLearner, BaseClassifier)) else None
    if backbone is not None and has_batch_norm(backbone):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in the stubs
