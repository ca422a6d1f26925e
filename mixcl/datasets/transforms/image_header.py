"""The size of an image from the first bytes of its file."""

import io
import struct
from typing import NamedTuple

from PIL import Image

PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
"""By the colour type of PNG; the third is a palette."""

Image.init()
KNOWN = ('AVIF', 'BMP', 'DIB', 'GIF', 'JPEG', 'JPEG2000', 'PCX', 'PNG', 'PPM', 'TGA', 'TIFF', 'WEBP')
FORMATS = tuple(name for name in KNOWN if name in Image.OPEN)
"""What Pillow may read, as far as it can. Not EPS: that is a program, which it gives to Ghostscript to run."""

START_OF_FRAME = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
START_OF_SCAN = 0xDA
WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}


class ImageHeader(NamedTuple):
    """What an image file says about its content.

    Attributes:
        width, height: in pixels, as stored: the EXIF tag may say that the image is to be turned.
        channels: 1 grey, 2 grey and transparency, 3 colour, also by a palette, 4 CMYK or colour and transparency.
        bits: per channel.
    """

    width: int
    height: int
    channels: int
    bits: int


def read_header(content: bytes) -> ImageHeader | None:
    """Read what an image file says about its content, in a few microseconds for JPEG and PNG; else Pillow reads it.

    Args:
        content: the file, or its first bytes. JPEG files may have some 100 kB of camera data before the size.

    Returns:
        None if the format is not known, or the bytes end before they tell the size.

    Raises:
        PIL.Image.DecompressionBombError: by Pillow, for more than 179 million pixels.
    """
    if content[:3] == b'\xff\xd8\xff':
        return _jpeg_header(content) or _pillows_header(content)
    if content[:8] == b'\x89PNG\r\n\x1a\n' and content[12:16] == b'IHDR' and len(content) >= 26:
        width, height, bits, colours = struct.unpack_from('>IIBB', content, 16)
        return ImageHeader(width, height, PNG_CHANNELS.get(colours, 3), bits)
    return _pillows_header(content)


def _jpeg_header(content: bytes) -> ImageHeader | None:
    place = 2
    for _ in range(1000):  # ordinary files have less than a hundred segments
        place = content.find(b'\xff', place)
        if place < 0 or place + 10 > len(content):
            return None
        marker = content[place + 1]
        if marker in START_OF_FRAME:
            bits, height, width, channels = struct.unpack_from('>BHHB', content, place + 4)
            return ImageHeader(width, height, channels, bits)
        if marker == START_OF_SCAN:
            return None
        if marker == 0xFF:  # any number of them may stand before a marker
            place += 1
        elif marker == 0x00:  # no marker: decoders pass over it
            place += 2
        else:
            place += 2 if marker in WITHOUT_LENGTH else 2 + int.from_bytes(content[place + 2 : place + 4], 'big')
    return None


def _pillows_header(content: bytes) -> ImageHeader | None:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            deep = image.mode.startswith(('I', 'F')) or any(';16' in str(tile) for tile in image.tile)
            channels = 3 if image.mode.startswith('P') else len(image.getbands())
            return ImageHeader(image.width, image.height, channels, 16 if deep else 8)
    except Image.DecompressionBombError:
        raise
    except Exception:  # Pillow's readers raise almost anything on damaged files
        return None
