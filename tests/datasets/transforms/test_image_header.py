"""Sizes from the first bytes of image files, as Pillow reads them."""

import io

import numpy as np
import pytest
from PIL import Image

from mixcl.datasets.transforms import ImageHeader, read_header

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8))
TURNED = Image.Exif()
TURNED[0x0112] = 6  # the size is the one that is stored
DEEP = Image.new('I;16', (40, 30), 0x8000)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def camera_jpeg(segments: int) -> bytes:
    """A JPEG file with so many segments of 60 kB of EXIF data in front of its size."""
    content = encoded(NOISE, 'JPEG')
    segment = b'\xff\xe1' + (60_002).to_bytes(2, 'big') + b'Exif\0\0' + b'\xff\xc0' * 29_997
    return content[:2] + segments * segment + content[2:]


FAST = {
    'JPEG': (encoded(NOISE, 'JPEG'), 3, 8),
    'progressive JPEG': (encoded(NOISE, 'JPEG', progressive=True), 3, 8),
    'turned JPEG': (encoded(NOISE, 'JPEG', exif=TURNED), 3, 8),
    'JPEG after 300 kB': (camera_jpeg(5), 3, 8),
    'grey JPEG': (encoded(NOISE.convert('L'), 'JPEG'), 1, 8),
    'CMYK JPEG': (encoded(NOISE.convert('CMYK'), 'JPEG'), 4, 8),
    'JPEG with fill bytes': (encoded(NOISE, 'JPEG').replace(b'\xff\xc0', b'\xff\xff\xff\xff\xc0', 1), 3, 8),
    'JPEG with junk': (encoded(NOISE, 'JPEG').replace(b'\xff\xe0', b'\xff\x00\x00\x20\xff\xe0', 1), 3, 8),
    'PNG': (encoded(NOISE, 'PNG'), 3, 8),
    'palette PNG': (encoded(NOISE.quantize(200), 'PNG'), 3, 8),
    'black and white PNG': (encoded(NOISE.convert('1'), 'PNG'), 1, 1),
    'grey PNG': (encoded(NOISE.convert('LA'), 'PNG'), 2, 8),
    'transparent PNG': (encoded(NOISE.convert('RGBA'), 'PNG'), 4, 8),
    '16-bit PNG': (encoded(DEEP, 'PNG'), 1, 16),
}
BY_PILLOW = {
    'WebP': (encoded(NOISE, 'WEBP'), 3, 8),
    'GIF': (encoded(NOISE.quantize(200), 'GIF'), 3, 8),
    'BMP': (encoded(NOISE, 'BMP'), 3, 8),
    'TIFF': (encoded(NOISE, 'TIFF'), 3, 8),
    'CMYK TIFF': (encoded(NOISE.convert('CMYK'), 'TIFF'), 4, 8),
    '16-bit TIFF': (encoded(DEEP, 'TIFF'), 1, 16),
}


@pytest.mark.parametrize('name', [*FAST, *BY_PILLOW])
def test_headers_are_those_of_pillow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content, channels, bits = (FAST | BY_PILLOW)[name]
    with Image.open(io.BytesIO(content)) as image:
        expected = ImageHeader(*image.size, channels, bits)
    assert expected[:2] == (40, 30)
    if name in FAST:
        monkeypatch.setattr(Image, 'open', None)
    assert read_header(content) == expected


def test_the_first_bytes_tell_the_truth_or_nothing() -> None:
    for name in ('JPEG', 'progressive JPEG', 'PNG'):
        content, channels, bits = FAST[name]
        found = [read_header(content[:length]) for length in range(700)]
        assert found[0] is None and found[-1] == (40, 30, channels, bits)
        assert set(found) == {None, found[-1]} and None not in found[found.index(found[-1]) :]


def test_data_that_look_like_a_frame_are_none() -> None:
    scan_first = b'\xff\xd8\xff\xda\x00\x08' + bytes(6) + encoded(NOISE, 'JPEG')[2:]
    for content in (camera_jpeg(1)[:60_000], b'no image', b'\xff\xd8\xff' + bytes(1000), scan_first[:40]):
        assert read_header(content) is None
