"""Images of any number of channels, such as those of satellites, microscopes and X-rays."""

import io
from collections.abc import Sequence

import cv2
import numpy as np
from mmcv.transforms import BaseTransform

from mixcl.datasets.transforms.decoding import read_file
from mixcl.datasets.unreadable import UnreadableImage
from mixcl.errors import UserError
from mixcl.registry import TRANSFORMS


@TRANSFORMS.register_module()
class LoadChannels(BaseTransform):
    """Transform that reads a file as an 8-bit image with all its channels, instead of ``LoadImage``.

    Files are numpy arrays, ``.npy`` of (h, w) or (h, w, C), or images: of up to four channels, or a TIFF with one page
    per channel. Channels keep their order, but OpenCV gives red, green and blue as BGR. Results that already hold an
    ``img`` pass unchanged.

    Args:
        channels: C; files with another number are refused.
        limits: values that become 0 and 255; values outside are clipped. None for 8-bit files.

    Raises:
        UserError: for another number of channels, and for files of more than 8 bits without ``limits``.
        UnreadableImage: if the file cannot be read.
    """

    def __init__(self, channels: int, limits: Sequence[float] | None = None) -> None:
        if limits is not None and not (len(limits) == 2 and limits[0] < limits[1]):
            raise UserError(f'LoadChannels: limits must be two values, the smaller first, not {limits!r}')
        self.channels = channels
        self.limits = limits

    def transform(self, results: dict) -> dict:
        """Add ``img``, uint8 (h, w, C), ``img_shape`` and ``ori_shape``, both (h, w)."""
        if 'img' in results:
            return results
        path = results['img_path']
        image = _decoded(read_file(path, results.get('read_bytes')), path)
        if image.ndim != 3 or image.shape[2] != self.channels:
            raise UserError(
                f'{path} has the shape {image.shape}, but LoadChannels expects (height, width, {self.channels}); '
                'correct channels in the config, or the file'
            )
        if self.limits is not None:
            low, high = self.limits
            scaled = (np.nan_to_num(image.astype(np.float32)) - low) * (255 / (high - low))
            image = np.clip(np.rint(scaled), 0, 255).astype(np.uint8)
        elif image.dtype != np.uint8:
            raise UserError(
                f'{path} holds values of type {image.dtype}: give LoadChannels limits=(LOW, HIGH), the values that '
                'become 0 and 255'
            )
        return {**results, 'img': image, 'img_shape': image.shape[:2], 'ori_shape': image.shape[:2]}


def _decoded(content: bytes, path: str) -> np.ndarray:
    """Decode a file to (h, w, C) of any dtype."""
    try:
        if path.lower().endswith('.npy'):
            image = np.load(io.BytesIO(content), allow_pickle=False)
        else:
            _, pages = cv2.imdecodemulti(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
            image = np.dstack(pages)
    except (ValueError, EOFError, cv2.error) as error:
        raise UnreadableImage(path, 'no array or image of up to four channels or one per page', 'no image') from error
    return image[..., None] if image.ndim == 2 else image
