"""Sizes from the first bytes of image files, as Pillow reads them."""

import io

import numpy as np
import pytest
from PIL import Image

from mixcl.datasets.transforms import read_header

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8))
TURNED = Image.Exif()
TURNED[0x0112] = 6  # the size is the one that is stored


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


JPEG = encoded(NOISE, 'JPEG')


def camera_jpeg(segments: int) -> bytes:
    """A JPEG file with so many segments of 60 kB of EXIF data in front of its size."""
    segment = b'\xff\xe1' + (60_002).to_bytes(2, 'big') + b'Exif\0\0' + b'\xff\xc0' * 29_997
    return JPEG[:2] + segments * segment + JPEG[2:]


FAST = {
    'JPEG': JPEG,
    'progressive JPEG': encoded(NOISE, 'JPEG', progressive=True),
    'turned JPEG': encoded(NOISE, 'JPEG', exif=TURNED),
    'JPEG after 300 kB': camera_jpeg(5),
    'grey JPEG': encoded(NOISE.convert('L'), 'JPEG'),
    'CMYK JPEG': encoded(NOISE.convert('CMYK'), 'JPEG'),
    'JPEG with fill bytes': JPEG.replace(b'\xff\xc0', b'\xff\xff\xff\xff\xc0', 1),
    'JPEG with junk': JPEG.replace(b'\xff\xe0', b'\xff\x00\x00\x20\xff\xe0', 1),
    'PNG': encoded(NOISE, 'PNG'),
    'palette PNG': encoded(NOISE.quantize(200), 'PNG'),
    'grey PNG': encoded(NOISE.convert('LA'), 'PNG'),
    'transparent PNG': encoded(NOISE.convert('RGBA'), 'PNG'),
    '16-bit PNG': encoded(Image.new('I;16', (40, 30), 0x8000), 'PNG'),
}


@pytest.mark.parametrize('name', FAST)
def test_headers_are_those_of_pillow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Image.open(io.BytesIO(FAST[name])) as image:
        channels = 3 if image.mode == 'P' else len(image.getbands())
        expected = (40, 30, channels, 16 if image.mode == 'I;16' else 8)
    monkeypatch.setattr(Image, 'open', None)
    assert read_header(FAST[name]) == expected


def test_the_first_bytes_tell_the_truth_or_nothing() -> None:
    for name in ('JPEG', 'progressive JPEG', 'PNG'):
        found = [read_header(FAST[name][:length]) for length in range(700)]
        assert found[0] is None and found[-1] == (40, 30, 3, 8)
        assert set(found) == {None, found[-1]} and None not in found[found.index(found[-1]) :]


def test_data_that_look_like_a_frame_are_none() -> None:
    scan_first = b'\xff\xd8\xff\xda\x00\x08' + bytes(6) + JPEG[2:]
    for content in (camera_jpeg(1)[:60_000], b'no image', b'\xff\xd8\xff' + bytes(1000), scan_first[:40]):
        assert read_header(content) is None
