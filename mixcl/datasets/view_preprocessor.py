"""Data preprocessors that turn 8-bit crops into normalised views on the device."""

from collections.abc import Sequence
from typing import Any

import torch
from mmpretrain.models import ClsDataPreprocessor, SelfSupDataPreprocessor
from torch import Tensor

from mixcl.datasets.transforms import photometry, photometry_cpu
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class ViewPreprocessor(SelfSupDataPreprocessor):
    """mmpretrain's ``SelfSupDataPreprocessor``, same arguments, which also finishes the views of ``KeyedDataset``.

    Mean and standard deviation may have any number of channels; ``to_rgb`` is for three.

    Batches may have ``photometry``, float32 (B, views, n, 2) on the CPU: the programs of
    :mod:`~mixcl.datasets.transforms.photometry`. Nothing here waits for the device, unless ``non_blocking=False``.

    Attributes:
        follows_autocast: whether views for training have the dtype of autocast, to which a convolution would cast them
            later; set by models that do no arithmetic with pixels.
    """

    follows_autocast = False

    def __init__(
        self,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        *,
        non_blocking: bool = True,
        **kwargs: Any,
    ) -> None:
        first = [None if values is None else values[:1] for values in (mean, std)]  # mmengine allows only 1 or 3
        super().__init__(*first, non_blocking=non_blocking, **kwargs)
        if mean is None or std is None:
            return
        if len(mean) != len(std) or (self._channel_conversion and len(mean) not in (1, 3)):
            raise UserError(
                f'data_preprocessor: mean={list(mean)} and std={list(std)} must have as many values as the images have '
                'channels, and to_rgb=False where these are not 3'
            )
        self.mean, self.std = (torch.tensor(values, dtype=torch.float32).view(-1, 1, 1) for values in (mean, std))

    def forward(self, data: dict, training: bool = False) -> dict:
        """Finish and normalise ``inputs``, uint8 (B, C, h, w), or a list of them, one per view."""
        cast = self._cast(data)
        device = self.device.type
        half = training and self.follows_autocast and torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if half else torch.float32
        views = [self._normalised(view, dtype) for view in self._finished(cast['inputs'], data.get('photometry'))]
        inputs = views if isinstance(cast['inputs'], list) else views[0]
        return {'inputs': inputs, 'data_samples': cast['data_samples']}

    def _normalised(self, view: Tensor, dtype: torch.dtype) -> Tensor:
        if not self._enable_normalize:
            return view.to(dtype)
        shifted = view - self.mean.float()
        out = shifted if shifted.dtype == dtype else torch.empty_like(shifted, dtype=dtype)
        return torch.div(shifted, self.std, out=out)

    def finish(self, data: dict) -> dict:
        """Do the photometry of a batch once, for models that use the same views several times."""
        cast = self._cast(data)
        if 'photometry' not in data:
            return cast
        return {**cast, 'inputs': list(map(self._swapped, self._finished(cast['inputs'], data['photometry'])))}

    def _cast(self, data: dict) -> dict:
        """Return the batch on the device, without its programs."""
        # The data samples are not needed on the device, and moving them would take a call each.
        host = ('photometry', 'data_samples')
        cast = self.cast_data({name: value for name, value in data.items() if name not in host})
        return {**cast, 'data_samples': data.get('data_samples')}

    def _finished(self, inputs: Tensor | list[Tensor], programs: Tensor | None) -> list[Tensor]:
        """Return the finished views: integers in [0, 255] of any dtype."""
        views = [self._swapped(image) for image in (inputs if isinstance(inputs, list) else [inputs])]
        if programs is None:
            return views
        bgr = not self._channel_conversion and views[0].shape[1] == 3  # programs expect RGB
        return [
            _with_photometry(view.flip(1), one).flip(1) if bgr else _with_photometry(view, one)
            for view, one in zip(views, programs.unbind(1), strict=True)
        ]

    def _swapped(self, images: Tensor) -> Tensor:
        """Swap BGR and RGB order if configured; an index instead of flip would be copied to the device each time."""
        return images.flip(1) if self._channel_conversion else images


@MODELS.register_module()
class ClassifierViewPreprocessor(ClsDataPreprocessor):
    """mmpretrain's ``ClsDataPreprocessor``, same arguments, which first finishes the images of ``KeyedDataset``.

    Batches may have the ``photometry`` of one view, as for :class:`ViewPreprocessor`.
    """

    def forward(self, data: dict, training: bool = False) -> dict:
        """Finish, normalise and mix ``inputs``, uint8 (B, 3, h, w) in BGR order."""
        if 'photometry' in data:
            images = self.cast_data(data['inputs']).flip(1)  # to RGB, as programs expect, and back
            data = {**data, 'inputs': _with_photometry(images, data['photometry'][:, 0]).flip(1)}
        return super().forward(data, training)


def _with_photometry(view: Tensor, programs: Tensor) -> Tensor:
    if view.device.type == 'cpu' and view.dtype == torch.uint8:
        return photometry_cpu.run_programs(view, programs)
    return photometry.run_programs(view.to(torch.uint8, copy=True), programs)
