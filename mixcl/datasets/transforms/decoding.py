"""From an image file to 8-bit BGR pixels, with a note of what had to be converted."""

import contextlib
import io
import os
from collections.abc import Callable

import cv2
import mmcv
import numpy as np
from mmengine import fileio
from PIL import ExifTags, Image, ImageOps

from mixcl.datasets.transforms.image_header import FORMATS, ImageHeader, read_header
from mixcl.datasets.unreadable import ImageNote, UnreadableImage

JPEG_START = b'\xff\xd8\xff'

MAX_PIXELS = 2 * 89_478_485
"""Of larger images nothing is unpacked; where Pillow draws the line."""

MAX_BYTES = 8 * MAX_PIXELS
"""Of a file: as many pixels, four channels of 16 bits each."""


def read_file(path: str, backend_args: dict | None = None, read: Callable[[], bytes] | None = None) -> bytes:
    """The content of an image file, or what ``read`` gives where the image is no file of its own.

    Raises:
        UnreadableImage: if it is missing, may not be read, is empty, or larger than any image that is unpacked.
    """
    # Reading from a pipe would wait for ever.
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise UnreadableImage(path, 'a device or a pipe, not a file', 'no image')
    if os.path.isfile(path) and os.path.getsize(path) > MAX_BYTES:
        raise UnreadableImage(path, f'a file of {os.path.getsize(path)} bytes', 'too large')
    try:
        content = fileio.get(path, backend_args=backend_args) if read is None else read()
    except OSError as error:
        raise UnreadableImage(path, error.strerror or type(error).__name__, 'missing') from error
    if not content:
        raise UnreadableImage(path, 'the file is empty', 'empty')
    return content


def decode(content: bytes, path: str) -> tuple[np.ndarray, ImageNote | None]:
    """Decode an image of any common format, depth and colour model, turned upright by its EXIF tag.

    OpenCV decodes; what it cannot, Pillow tries. Animations give their first frame, transparency is dropped.

    Args:
        content: of the file.
        path: its name, for errors and the note.

    Returns:
        (height, width, 3) uint8 in BGR order, and a note if that was not what the file held: 'tiny' (a side of one
        pixel), '16-bit', 'grey', or 'four channels' (CMYK, transparency).

    Raises:
        UnreadableImage: if it cannot be decoded, says that it has more than :data:`MAX_PIXELS`, or has more than it
            says.
    """
    try:
        header = read_header(content)
        if header is not None and header.width * header.height > MAX_PIXELS:
            raise Image.DecompressionBombError(f'{header.width} x {header.height}')
    except Image.DecompressionBombError as error:
        raise UnreadableImage(path, f'too many pixels: {error}', 'too large') from error
    image = None  # where no header tells the size, OpenCV would unpack up to 2 ** 30 pixels
    with contextlib.suppress(cv2.error):
        image = None if header is None else mmcv.imfrombytes(content, flag='color', backend='cv2')
    if image is None:
        image = _decode_with_pillow(content, path, header)
    return image, None if header is None else _conversion(header, path)


def decode_reduced(
    content: bytes, path: str, reduction: Callable[[tuple[int, int]], int]
) -> tuple[np.ndarray, ImageNote | None, tuple[int, int]] | None:
    """Decode a JPEG file at a half, a quarter or an eighth of its size, which takes less time.

    Args:
        content, path: as for :func:`decode`.
        reduction: tells for a (height, width) by what they may be divided: 1, 2, 4 or 8.

    Returns:
        image and note as of :func:`decode`, and the full (height, width); None where :func:`decode` must do it.
    """
    header = None
    with contextlib.suppress(Image.DecompressionBombError):
        header = read_header(content) if content[:3] == JPEG_START else None
    if header is None or header.width * header.height > MAX_PIXELS:
        return None
    shape = header.height, header.width
    factor = reduction(shape)
    if factor > 1 and _turned(content):
        shape = shape[::-1]
        factor = reduction(shape)
    if factor == 1:
        return None
    image = None
    with contextlib.suppress(cv2.error):
        image = cv2.imdecode(np.frombuffer(content, np.uint8), getattr(cv2, f'IMREAD_REDUCED_COLOR_{factor}'))
    if image is None or image.shape[:2] != tuple(-(-side // factor) for side in shape):
        return None
    return image, _conversion(header, path), shape


def _turned(content: bytes) -> bool:
    """Whether the EXIF tag lays the image on its side."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.getexif().get(ExifTags.Base.Orientation, 1) > 4
    except Exception:  # Pillow's readers raise almost anything on damaged files
        return False


def _conversion(header: ImageHeader, path: str) -> ImageNote | None:
    kind = {1: 'grey', 2: 'grey', 4: 'four channels'}.get(header.channels)
    kind = '16-bit' if header.bits > 8 else kind
    kind = 'tiny' if min(header.width, header.height) < 2 else kind
    return ImageNote(path, kind, 'converted') if kind else None


def _decode_with_pillow(content: bytes, path: str, header: ImageHeader | None) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            if header is not None and image.width * image.height > header.width * header.height:
                raise ValueError(f'{image.width} x {image.height} pixels after a header of {header[0]} x {header[1]}')
            upright = ImageOps.exif_transpose(image).convert('RGB')
    except Image.UnidentifiedImageError as error:
        raise UnreadableImage(path, 'not an image', 'no image') from error
    except Exception as error:  # On damaged files Pillow's decoders raise almost anything.
        kind = 'truncated' if 'truncated' in str(error) else 'damaged'
        raise UnreadableImage(path, f'{type(error).__name__}: {error}', kind) from error
    return np.ascontiguousarray(np.asarray(upright)[..., ::-1])
