"""mmengine's Runner, with models laid out in memory as convolutions take them."""

from typing import Any

import torch
from mmengine.runner import Runner
from mmpretrain.models import BaseClassifier
from torch import nn

from mixcl.algorithms import ContrastiveLearner
from mixcl.encoders.sync_batch_norm import has_batch_norm


class ChannelsLastRunner(Runner):
    """ResNets keep the channels of images last in memory, with which convolutions are faster on GPUs and CPUs."""

    def build_model(self, model: Any) -> nn.Module:
        """Build a model, before a wrapper for several processes lists its parameters."""
        built = super().build_model(model)
        put_channels_last(built)
        return built


def put_channels_last(model: nn.Module) -> None:
    """Lay the weights of a model of pretraining or classification out so, if its backbone is a convolutional one.

    Not a vision transformer's, whose only convolution would give its patches in the wrong order; nor a detector's,
    since operators of mmcv read the memory as it comes.
    """
    if isinstance(model, (ContrastiveLearner, BaseClassifier)) and has_batch_norm(model.get_submodule('backbone')):
        model.to(memory_format=torch.channels_last)
