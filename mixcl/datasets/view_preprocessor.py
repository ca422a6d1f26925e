"""From 8-bit crops to normalised views, on the device."""

from collections.abc import Sequence
from typing import Any

import torch
from mmpretrain.models import SelfSupDataPreprocessor
from torch import Tensor

from mixcl.datasets.transforms.photometry import run_programs
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class ViewPreprocessor(SelfSupDataPreprocessor):
    """mmpretrain's ``SelfSupDataPreprocessor``, same arguments, that finishes the views of ``KeyedDataset``.

    Mean and standard deviation may have any number of channels; ``to_rgb`` is for three.

    Batches may have ``photometry``, float32 (B, views, n, 2) on the CPU: the programs of
    :mod:`~mixcl.datasets.transforms.photometry`. Nothing here waits for the device.
    """

    def __init__(self, mean: Sequence[float] | None = None, std: Sequence[float] | None = None, **kwargs: Any) -> None:
        first = [None if values is None else values[:1] for values in (mean, std)]  # mmengine allows 1 and 3
        super().__init__(*first, **kwargs)
        if mean is None or std is None:
            return
        if len(mean) != len(std) or (self._channel_conversion and len(mean) not in (1, 3)):
            raise UserError(
                f'data_preprocessor: mean={list(mean)} and std={list(std)} must have as many values as the images have '
                'channels, and to_rgb=False where these are not 3'
            )
        self.mean, self.std = (torch.tensor(values, dtype=torch.float32).view(-1, 1, 1) for values in (mean, std))

    def forward(self, data: dict, training: bool = False) -> dict:
        """Finish and normalise ``inputs``, uint8 (B, C, h, w), or a list of such, one per view."""
        cast, views = self._finished(data)
        if self._enable_normalize:
            views = [(view - self.mean).div_(self.std) for view in views]
        inputs = views if isinstance(cast['inputs'], list) else views[0]
        return {'inputs': inputs, 'data_samples': cast.get('data_samples')}

    def finish(self, data: dict) -> dict:
        """A batch without ``photometry``, since it is done, for models that look several times at the same views."""
        cast, views = self._finished(data)
        return {**cast, 'inputs': [self._swapped(view) for view in views]} if 'photometry' in data else cast

    def _finished(self, data: dict) -> tuple[dict, list[Tensor]]:
        """The rest of a batch on the device, and its views as float32."""
        cast = self.cast_data({name: value for name, value in data.items() if name != 'photometry'})
        images = cast['inputs'] if isinstance(cast['inputs'], list) else [cast['inputs']]
        views = [self._swapped(image).float() for image in images]
        if 'photometry' in data:
            for view, programs in zip(views, data['photometry'].unbind(1), strict=True):
                run_programs(view, programs)
        return cast, views

    def _swapped(self, images: Tensor) -> Tensor:
        """From BGR to RGB order or back. Not by an index, which would be copied to the device each time."""
        return images.flip(1) if self._channel_conversion else images
