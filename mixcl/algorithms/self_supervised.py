"""mmpretrain's self-supervised algorithms, as mixcl trains them."""

from collections.abc import Callable
from typing import Any

import torch
from mmpretrain.models import MAE, BaseSelfSupervisor, SimMIM
from mmpretrain.registry import MODELS as MMPRETRAIN
from mmpretrain.structures import DataSample
from torch import Tensor, nn

from mixcl.algorithms.derived import completed, decoders_of_mae, decoders_of_simmim
from mixcl.algorithms.learner import Learner
from mixcl.encoders.outputs import pooled_output
from mixcl.registry import MODELS


class SelfSupervised(Learner):
    """A base class that lets :class:`~mixcl.engine.PretrainLoop` train one of mmpretrain's algorithms.

    Every algorithm of mmpretrain is registered with this base under its own name: ``model=dict(type='MAE', ...)`` has
    the arguments, losses and weights of ``mmpretrain.MAE``. Its parts are named with their scope, such as
    ``mmpretrain.MAEViT``. Random draws in training, such as masks, come from the global generators, which the loop
    seeds by (seed, step, rank).

    MAE and SimMIM take the sizes of their decoder and head (patches, widths) from the backbone unless they are given.
    """

    extract_feat: Callable[[Tensor], Any]

    def __init__(self, *args: Any, data_preprocessor: dict | nn.Module | None = None, **kwargs: Any) -> None:
        # mmpretrain names its preprocessor without a scope, and mixcl's registry cannot find that.
        preprocessor = data_preprocessor or dict(type='mixcl.ViewPreprocessor')
        if isinstance(self, (MAE, SimMIM)) and isinstance(kwargs.get('backbone'), dict):
            kwargs |= _with_decoders(self, **kwargs)
        super().__init__(*args, data_preprocessor=preprocessor, **kwargs)

    def forward(self, inputs: Any, data_samples: list[DataSample] | None = None, mode: str = 'tensor') -> Any:
        """Pass a single view on as images (B, 3, H, W), several views as a list of such."""
        if isinstance(inputs, list) and len(inputs) == 1:
            (inputs,) = inputs
        if data_samples:
            move(data_samples, next(self.parameters()).device)
        return super().forward(inputs, data_samples, mode)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        return pooled_output(self.extract_feat(images), self.backbone)


def _with_decoders(owner: object, backbone: dict, **parts: Any) -> dict[str, Any]:
    """Build the backbone, and return it with the configs of neck and head completed."""
    built = MMPRETRAIN.build(backbone)
    facts = decoders_of_mae(built) if isinstance(owner, MAE) else decoders_of_simmim(built)
    configs = {
        place: completed(parts[place], place, facts[place]) for place in facts if isinstance(parts.get(place), dict)
    }
    return dict(backbone=built, **configs)


def move(samples: list[DataSample], device: torch.device) -> None:
    """Move tensors of samples, such as masks, to a device in place, name by name, except names whose shapes differ."""
    for name, first in samples[0].items():
        values = [sample.get(name) for sample in samples]
        if isinstance(first, Tensor) and len({value.shape for value in values}) == 1:
            for sample, value in zip(samples, torch.stack(values).to(device, non_blocking=True), strict=True):
                sample.set_field(value, name)


def _register() -> None:
    for name, algorithm in MMPRETRAIN.module_dict.items():
        if isinstance(algorithm, type) and issubclass(algorithm, BaseSelfSupervisor):
            own = dict(__doc__=algorithm.__doc__, __module__=algorithm.__module__)
            MODELS.register_module(name, module=type(name, (SelfSupervised, algorithm), own))


_register()
