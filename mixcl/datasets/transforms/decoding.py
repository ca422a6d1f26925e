"""From the bytes of a file to 8-bit BGR pixels, with a note of what had to be converted."""

import io
import os
import stat

import cv2
import mmcv
import numpy as np
from mmengine import fileio
from PIL import Image, ImageOps

from mixcl.datasets.unreadable import UnreadableImage

CONVERTED_MODES = {
    '1': 'grey',
    'L': 'grey',
    'LA': 'grey',
    'CMYK': 'CMYK',
    'P': 'palette',
    'PA': 'palette',
    'RGBA': 'transparent',
}
"""What is converted to three channels of colour, by Pillow's name of the colour model."""


def read_file(path: str, backend_args: dict | None = None) -> bytes:
    """The content of an image file.

    Raises:
        UnreadableImage: if it is missing, may not be read, or is empty.
    """
    if _is_no_file(path):
        raise UnreadableImage(path, 'a device or a pipe, not a file', 'no image')
    try:
        content = fileio.get(path, backend_args=backend_args)
    except OSError as error:
        raise UnreadableImage(path, error.strerror or type(error).__name__, 'missing') from error
    if not content:
        raise UnreadableImage(path, 'the file is empty', 'empty')
    return content


def _is_no_file(path: str) -> bool:
    """Reading from a pipe would wait for ever."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # missing, or on a remote file system; the reader says so
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def decode(content: bytes, path: str) -> tuple[np.ndarray, str | None]:
    """Decode an image of any common format, depth and colour model, turned upright by its EXIF tag.

    OpenCV decodes; what it cannot, Pillow tries. Animations give their first frame, transparency is dropped.

    Args:
        content: of the file.
        path: its name, for errors.

    Returns:
        (height, width, 3) uint8 in BGR order, and what was converted: 'grey', 'CMYK', 'palette', 'transparent',
        '16-bit', 'tiny' (a side of one pixel), or None.

    Raises:
        UnreadableImage: if it cannot be decoded, or if its header promises more than twice Pillow's
            ``MAX_IMAGE_PIXELS`` (179 million) pixels; it is then not unpacked.
    """
    conversion = _read_header(content, path)
    try:
        image = mmcv.imfrombytes(content, flag='color', backend='cv2')
    except cv2.error:
        image = None
    if image is None:
        image = _decode_with_pillow(content, path)
    return image, conversion


def _read_header(content: bytes, path: str) -> str | None:
    try:
        with Image.open(io.BytesIO(content)) as header:
            return _conversion(header)
    except Image.DecompressionBombError as error:
        raise UnreadableImage(path, f'too many pixels: {error}', 'too large') from error
    except Exception:  # Pillow does not know the format; OpenCV may
        return None


def _conversion(header: Image.Image) -> str | None:
    if min(header.size) < 2:
        return 'tiny'
    if header.mode.startswith(('I', 'F')) or any(';16' in str(tile) for tile in header.tile):
        return '16-bit'
    return CONVERTED_MODES.get(header.mode)


def _decode_with_pillow(content: bytes, path: str) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(content)) as image:
            upright = ImageOps.exif_transpose(image).convert('RGB')
    except Image.UnidentifiedImageError as error:
        raise UnreadableImage(path, 'not an image', 'no image') from error
    except Exception as error:  # On damaged files Pillow's decoders raise almost anything.
        kind = 'truncated' if 'truncated' in str(error) else 'damaged'
        raise UnreadableImage(path, f'{type(error).__name__}: {error}', kind) from error
    return np.ascontiguousarray(np.asarray(upright)[..., ::-1])
