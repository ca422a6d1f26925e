"""Decoding of image files to 8-bit BGR pixels, with a note of what had to be converted."""

import contextlib
import errno
import io
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from PIL import ExifTags, Image, ImageOps

from mixcl.datasets.unreadable import ImageNote, UnreadableImage
from mixcl.errors import UserError
from mixcl.files import open_regular, read_regular

JPEG_START = b'\xff\xd8\xff'
JPEG_END = b'\xff\xd9'
GREYS = bytes([128] * 3), bytes([65] * 3)
"""Pixels, of CMYK the second, that decoders show where a JPEG's data end too early, before an end mark."""
FILLER = b''.join(bytes(range(64)) + bytes([0xFF, restart]) for restart in range(0xD0, 0xD8))
"""Data for the rest of such a JPEG, with all restart marks; decoders pass over it behind an image that is whole."""
PNG_START = b'\x89PNG\r\n\x1a\n'
START_OF_FRAME = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
PROGRESSIVE = {0xC2, 0xC6, 0xCA, 0xCE}
START_OF_SCAN = 0xDA
WITHOUT_LENGTH = {0x00, 0x01, *range(0xD0, 0xD9)}

XMP_START = b'http://ns.adobe.com/xap/1.0/\0'
TURNED = re.compile(rb'tiff:Orientation(="|>)[02-9]')
"""An orientation in XMP, which OpenCV does not read."""

PNG_TEXTS = {b'tEXt', b'zTXt', b'iTXt'}
PNG_ORIENTATION = (b'XML:com.adobe.xmp\0', b'Raw profile type exif\0')
"""Names of a PNG's texts that may say how the image is turned."""

PNG_KEY_SCALES = {'L;2': 85, 'L;4': 17, 'RGB;16B': 1 / 256}
"""Factor from a PNG's transparent colour to the values that Pillow makes of its pixels, by Pillow's name of these."""

WHITE = (255, 255, 255)
Reduction = Callable[[tuple[int, int]], int] | None

BITS_PER_SAMPLE = 258
"""TIFF tag; Pillow gives 12-bit values unscaled, in 16 bits."""

MAX_BYTES = 2**30
"""Largest file, in bytes, that is read."""

MAX_PIXELS = 2 * 89_478_485
"""Largest image, in pixels, that is decoded: Pillow's limit, at half of which it warns."""
SMALL = 2**24
PIXELS_PER_BYTE = 8 * 1032
"""Most pixels per byte, for images of more than ``SMALL`` pixels: a blank page of one bit per pixel, which deflate
packs 1,032 bytes to one. Photos of one colour have 170 as JPEG and 340 as PNG."""
DENSE = 16
"""Factor on ``PIXELS_PER_BYTE`` for files that do not begin as in ``NOT_DENSE``: blank pages have 84,000 in JPEG 2000,
32,000 as a fax in TIFF, and 26,000 in WebP."""
NOT_DENSE = (JPEG_START, b'\x89PNG', b'GIF', b'BM', b'P')
"""First bytes of the formats that cannot exceed ``PIXELS_PER_BYTE``."""

Image.init()
KNOWN = ('AVIF', 'BMP', 'DIB', 'GIF', 'JPEG', 'JPEG2000', 'PCX', 'PNG', 'PPM', 'TGA', 'TIFF', 'WEBP')
PILLOW_FORMATS = tuple(name for name in KNOWN if name in Image.OPEN)
"""Formats that Pillow may read, if its build can. Not EPS, a program that Pillow gives to Ghostscript to run."""

PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
"""Channels by PNG's colour type; 3 is a palette."""


class ImageHeader(NamedTuple):
    """Properties that an image file claims.

    Attributes:
        width, height: in pixels, as stored; the EXIF tag may ask to turn the image.
        channels: 1 grey, 2 grey and transparency, 3 colour, also by a palette, 4 CMYK or colour and transparency.
        bits: number per channel.
        plain: whether OpenCV gives the same pixels as Pillow, upright and opaque.
        transparent: whether the file has transparency, as Pillow's ``has_transparency_data`` says.
        progressive: whether it is a JPEG of several scans.
    """

    width: int
    height: int
    channels: int
    bits: int
    plain: bool
    transparent: bool = False
    progressive: bool = False


def read_file(path: str, read: Callable[[], bytes] | None = None) -> bytes:
    """Return the content of an image file, or what ``read`` returns if the image is no file of its own.

    Raises:
        UnreadableImage: if the file is missing, inaccessible, empty, not regular, or larger than :data:`MAX_BYTES`.
    """
    try:
        content = read() if read else read_regular(path, MAX_BYTES)
    except OSError as error:
        kind = 'too large' if error.errno == errno.EFBIG else 'missing'
        raise UnreadableImage(path, error.strerror or type(error).__name__, kind) from error
    if not content:
        raise UnreadableImage(path, 'the file is empty', 'empty')
    return content


def read_image(results: Mapping[str, Any], reduction: Reduction = None, background: Sequence[int] = WHITE) -> tuple:
    """Read and :func:`decode` the file of results, or the content from their ``read_bytes``."""
    path = results['img_path']
    return decode(read_file(path, results.get('read_bytes')), path, reduction, background)


def has_transparency(results: Mapping[str, Any]) -> bool:
    """Whether the header of an image, given as for :func:`read_image`, says that it has transparency."""
    with contextlib.suppress(Exception):  # reading an unreadable image says more
        read = results.get('read_bytes')
        with io.BytesIO(read()) if read else open_regular(results['img_path']) as file:
            return Image.open(file, formats=PILLOW_FORMATS).has_transparency_data
    return False


def decode(
    content: bytes, path: str, reduction: Reduction = None, background: Sequence[int] = WHITE
) -> tuple[np.ndarray, ImageNote | None, tuple[int, int]]:
    """Decode an image of any common format, depth and colour model, turned upright by its EXIF tag, else its XMP.

    OpenCV decodes images for which it agrees with Pillow, and Pillow the rest. Animations give their first frame;
    images with transparency are composited on the background.

    Args:
        content: bytes of the file.
        path: name for errors and the note.
        reduction: function from (height, width) to 1, 2, 4 or 8, the factor by which a JPEG may be shrunk while
            decoding, which then takes less time.
        background: red, green and blue, 0 to 255.

    Returns:
        (height, width, 3) uint8 in BGR order; a note if the file held something else: 'tiny' (a side of one pixel),
        'transparent, shown on white', '16-bit', 'grey', or 'four channels' (CMYK); and the full (height, width).

    Raises:
        UnreadableImage: if the file cannot be decoded, ends within the image, claims more pixels than
            :data:`MAX_PIXELS` or than its bytes can hold (:data:`PIXELS_PER_BYTE`), has more than it claims, or has
            values of unknown range.
    """
    try:
        header = _header(content)
        density = 1 if content.startswith(NOT_DENSE) else DENSE
        most = min(MAX_PIXELS, max(SMALL, PIXELS_PER_BYTE * density * len(content)))
        if header is not None and header.width * header.height > most:
            raise Image.DecompressionBombError(f'{header.width} x {header.height} in {len(content):,} bytes')
    except Image.DecompressionBombError as error:
        raise UnreadableImage(path, f'too many pixels: {error}', 'too large') from error
    image, full = _pixels(content, path, header, reduction, background)
    if content[:3] == JPEG_START and _may_be_cut(content, header, image):
        end = content.rfind(JPEG_END)
        versions = content, content[:end] + FILLER + content[end:]
        # By Pillow, since OpenCV would print what it passes over.
        whole, filled = (_decode_with_pillow(one, path, header, background) for one in versions)
        if not np.array_equal(whole, filled):
            raise UnreadableImage(path, 'the data end within the image, and its rest is grey', 'truncated')
    return image, None if header is None else _conversion(header, path, background), full or image.shape[:2]


def _pixels(
    content: bytes, path: str, header: ImageHeader | None, reduction: Reduction, background: Sequence[int]
) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Decode an image; return the pixels and, of one that was shrunk, the full (height, width)."""
    image = full = None  # without a header's size, OpenCV would unpack up to 2 ** 30 pixels
    with contextlib.suppress(cv2.error):
        if header is not None and header.plain and reduction is not None and content[:3] == JPEG_START:
            image, full = _decode_reduced(content, header, reduction)
        if header is not None and header.plain and image is None:
            image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        image = _decode_with_pillow(content, path, header, background)
    return image, full


def _may_be_cut(content: bytes, header: ImageHeader | None, image: np.ndarray) -> bool:
    """Whether a JPEG's data may end within the image: a corner is grey, or a progressive one lacks its last scan."""
    if any(image[y, x].tobytes() in GREYS for y in (0, -1) for x in (0, -1)):  # turned, it may end in any corner
        return True
    if header is None or not header.progressive:
        return False
    scan = content.rfind(bytes([0xFF, START_OF_SCAN]))
    band = content[scan + 5 + 2 * content[scan + 4] :][:3] if scan + 4 < len(content) else b''
    return len(band) < 3 or band[1] != 63 or band[2] % 16 > 0  # coefficients up to the last, with all their bits


def _decode_reduced(content: bytes, header: ImageHeader, reduction: Callable) -> tuple:
    """Decode a JPEG at reduced size; return pixels and full (height, width), or (None, None) if it must be whole."""
    shape = header.height, header.width
    factor = reduction(shape)
    if factor > 1 and _swaps_sides(content):
        shape = shape[::-1]
        factor = reduction(shape)
    if factor == 1:
        return None, None
    image = cv2.imdecode(np.frombuffer(content, np.uint8), getattr(cv2, f'IMREAD_REDUCED_COLOR_{factor}'))
    whole = image is not None and image.shape[:2] == tuple(-(-side // factor) for side in shape)
    return (image, shape) if whole else (None, None)


def _swaps_sides(content: bytes) -> bool:
    """Whether the EXIF tag swaps the image's height and width."""
    with contextlib.suppress(Exception), Image.open(io.BytesIO(content)) as image:  # on damaged files, almost anything
        return image.getexif().get(ExifTags.Base.Orientation, 1) in range(5, 9)
    return False


def _header(content: bytes) -> ImageHeader | None:
    """Read the header (None if unknown or damaged); raise DecompressionBombError if there are too many pixels."""
    if content[:3] == JPEG_START and (header := _jpeg_header(content)):  # also if Pillow refuses the camera's data
        return header
    # Pillow would also unpack the texts of a PNG, and refuse long ones.
    if content.startswith(PNG_START) and content[12:16] == b'IHDR' and len(content) >= 26:
        width, height, bits, colours = struct.unpack_from('>IIBB', content, 16)
        chunks = _chunks(content)
        transparent = colours in (4, 6) or any(kind == b'tRNS' for kind, *_ in chunks)
        turned = any(kind in PNG_TEXTS and _may_turn(content, at) for kind, at, _ in chunks)
        plain = bool(chunks) and not transparent and not turned
        return ImageHeader(width, height, PNG_CHANNELS.get(colours, 3), bits, plain, transparent)
    try:
        with Image.open(io.BytesIO(content), formats=PILLOW_FORMATS) as image:
            deep = image.mode.startswith(('I', 'F')) or any(';16' in str(tile) for tile in image.tile)
            channels = 3 if image.mode.startswith('P') else len(image.getbands())
            upright = image.getexif().get(ExifTags.Base.Orientation, 1) == 1
            # OpenCV does not turn WebP and AVIF or scale PPM by its maximum value, and does not know LAB.
            odd = image.format == 'PPM' or (image.format == 'TIFF' and image.mode == 'LAB')
            plain = upright and not deep and not odd and not image.has_transparency_data
            bits = 16 if deep else 8
            return ImageHeader(image.width, image.height, channels, bits, plain, image.has_transparency_data)
    except Image.DecompressionBombError:
        raise
    except Exception:  # Pillow's readers raise almost anything on damaged files
        return None


def _chunks(content: bytes) -> list[tuple[bytes, int, int]]:
    """Return kind, begin and end of the chunks of a PNG; none if they do not end within the file: OpenCV allocates as
    much as they claim."""
    place, found = len(PNG_START), []
    while content.startswith(PNG_START) and place + 12 <= len(content):
        end = place + 12 + int.from_bytes(content[place : place + 4], 'big')
        found.append((content[place + 4 : place + 8], place, end))
        if found[-1][0] == b'IEND':
            return found
        place = end
    return []


def _may_turn(content: bytes, place: int) -> bool:
    """Whether the text chunk of a PNG at a place may say how the image is turned."""
    return content.startswith(PNG_ORIENTATION, place + 8)


def _conversion(header: ImageHeader, path: str, background: Sequence[int]) -> ImageNote | None:
    kind = {1: 'grey', 2: 'grey', 4: 'four channels'}.get(header.channels)
    kind = '16-bit' if header.bits > 8 else kind
    kind = f'transparent, {shown_on(background)}' if header.transparent else kind
    kind = 'tiny' if min(header.width, header.height) < 2 else kind
    return ImageNote(path, kind, 'converted') if kind else None


def shown_on(background: Sequence[int]) -> str:
    """Say what images with transparency are composited on."""
    return f'shown on {"white" if tuple(background) == WHITE else f"rgb{tuple(background)}"}'


def _decode_with_pillow(content: bytes, path: str, header: ImageHeader | None, background: Sequence) -> np.ndarray:
    if header is not None and (chunks := _chunks(content)):  # without texts: Pillow refuses long ones
        kept = [content[at:end] for kind, at, end in chunks if kind not in PNG_TEXTS or _may_turn(content, at)]
        content = PNG_START + b''.join(kept)
    try:
        with Image.open(io.BytesIO(content), formats=PILLOW_FORMATS) as image:
            if header is not None and image.width * image.height > header.width * header.height:
                raise ValueError(f'{image.width} x {image.height} pixels after a header of {header[0]} x {header[1]}')
            return np.ascontiguousarray(rgb_of(image, background)[..., ::-1])
    except UserError as error:
        raise UnreadableImage(path, str(error), 'other values') from error
    except Image.UnidentifiedImageError as error:
        raise UnreadableImage(path, 'not an image', 'no image') from error
    except Exception as error:  # On damaged files Pillow's decoders raise almost anything.
        kind = 'truncated' if 'truncated' in str(error) else 'damaged'
        raise UnreadableImage(path, f'{type(error).__name__}: {error}', kind) from error


def rgb_of(image: Image.Image, background: Sequence[int] = WHITE) -> np.ndarray:
    """Convert Pillow's image to (h, w, 3) uint8, upright and on a background; of 12 or 16 bits, keep the upper 8.

    Raises:
        UserError: for floats and for integers of 32 bits, whose range is unknown.
    """
    if image.mode == 'F' or (image.mode == 'I' and image.format != 'PPM'):  # Pillow scales PPM to 16 bits
        raise UserError('floats or integers of 32 bits, of unknown range: scale them to 8 bits, or use LoadChannels')
    bits = getattr(image, 'tag_v2', {}).get(BITS_PER_SAMPLE, (16,))[0]
    tiles = image.format == 'PNG' and getattr(image, 'tile', None)  # gone after loading
    scale, key = PNG_KEY_SCALES.get(tiles[0][3] if tiles else ''), image.info.get('transparency')
    upright = ImageOps.exif_transpose(image)
    if scale and key is not None:
        upright.info['transparency'] = tuple(int(v * scale) for v in key) if isinstance(key, tuple) else key * scale
    if upright.mode.startswith('I'):
        values = np.asarray(upright)
        upright = Image.fromarray((values >> (bits - 8)).astype(np.uint8))
        if key is not None:
            upright.putalpha(Image.fromarray(np.where(values == key, 0, 255).astype(np.uint8)))
    if not upright.has_transparency_data:
        return np.asarray(upright.convert('RGB'))
    shown, canvas = upright.convert('RGBA'), Image.new('RGB', upright.size, tuple(background))
    canvas.paste(shown, mask=shown)
    return np.asarray(canvas)


def _jpeg_header(content: bytes) -> ImageHeader | None:
    """Read the frame header of a JPEG, behind other segments; return None if there is none."""
    place, plain = 2, True
    for _ in range(1000):  # ordinary files have fewer than a hundred segments
        place = content.find(b'\xff', place)
        if place < 0 or place + 10 > len(content) or (marker := content[place + 1]) == START_OF_SCAN:
            return None
        if marker in START_OF_FRAME:
            bits, height, width, channels = struct.unpack_from('>BHHB', content, place + 4)
            return ImageHeader(width, height, channels, bits, plain, progressive=marker in PROGRESSIVE)
        if marker == 0xFF:  # any number of them may precede a marker
            place += 1
        else:  # 0x00 is no marker: decoders skip it
            end = place + (2 if marker in WITHOUT_LENGTH else 2 + int.from_bytes(content[place + 2 : place + 4], 'big'))
            plain = plain and not (content.startswith(XMP_START, place + 4) and TURNED.search(content, place, end))
            place = end
    return None
