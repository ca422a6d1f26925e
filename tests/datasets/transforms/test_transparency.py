"""Transparent pictures are composited on the background, as Pillow does, wherever mixcl reads an image."""

import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from own_sources import chunk, encoded
from PIL import Image

from mixcl.datasets import KeyedDataset, LoadImage
from mixcl.datasets.transforms.channels import LoadChannels
from mixcl.datasets.transforms.decoding import decode
from mixcl.datasets.verification import transparency
from mixcl.errors import UserError
from mixcl.registry import DATASETS

WHITE = (255, 255, 255)
RANDOM = np.random.default_rng(0)
NOISE = Image.fromarray(RANDOM.integers(0, 256, (20, 24, 4), dtype=np.uint8))
"""Hidden colours under every alpha from 0 to 255."""
GREY = NOISE.convert('LA')
COLOURS = NOISE.convert('RGB').quantize(32)


def on(background: Sequence[int], image: Image.Image) -> np.ndarray:
    """Composite by Pillow's reference."""
    rgba = image.convert('RGBA')
    canvas = Image.new('RGBA', image.size, (*background, 255))
    return np.asarray(Image.alpha_composite(canvas, rgba).convert('RGB'))


def of_mode(mode: str) -> Image.Image:
    if mode == 'half transparent palette':  # several levels of alpha
        image = COLOURS.copy()
        image.info['transparency'] = bytes(range(0, 256, 8))
        return image
    if mode == 'transparent palette':
        image = COLOURS.copy()
        image.info['transparency'] = image.getpixel((3, 5))
        return image
    if mode == 'RGB with a transparent colour':
        image = COLOURS.convert('RGB')
        image.info['transparency'] = image.getpixel((3, 5))
        return image
    if mode in ('L with a transparent grey', '1 with a transparent grey'):
        image = GREY.convert(mode[0])
        image.info['transparency'] = image.getpixel((3, 5)) * (mode[0] == 'L')
        return image
    return NOISE.convert(mode)


CASES = [
    *(('PNG', mode, {}) for mode in (
        'RGBA', 'LA', 'transparent palette', 'half transparent palette', 'RGB with a transparent colour',
        'L with a transparent grey', '1 with a transparent grey',
    )),
    *(('WEBP', 'RGBA', options) for options in (dict(lossless=True, exact=True), dict(quality=80))),
    ('GIF', 'transparent palette', {}),
    *(('TIFF', mode, dict(compression=how)) for mode in ('RGBA', 'LA') for how in (None, 'tiff_lzw')),
    ('AVIF', 'RGBA', {}),
    *(('TGA', mode, {}) for mode in ('RGBA', 'LA')),
    *(('JPEG2000', mode, {}) for mode in ('RGBA', 'LA')),
]  # fmt: skip


@pytest.mark.filterwarnings('ignore:Palette images with Transparency')  # of the test's own comparison
@pytest.mark.parametrize(('kind', 'mode', 'options'), CASES)
@pytest.mark.parametrize('background', [WHITE, (0, 90, 200)])
def test_formats_and_modes(kind: str, mode: str, options: dict, background: tuple) -> None:
    content = encoded(of_mode(mode), kind, **options)
    opened = Image.open(io.BytesIO(content))
    assert opened.has_transparency_data
    expected = on(background, opened)
    pixels, note, full = decode(content, 'a', background=background)
    assert np.abs(pixels[..., ::-1].astype(int) - expected).max() <= 1
    where = 'white' if background == WHITE else 'rgb(0, 90, 200)'
    assert note.kind == f'transparent, shown on {where}' and full == (20, 24)
    assert (expected != np.asarray(opened.convert('RGB'))).any(), 'the case has something hidden'


@pytest.mark.parametrize('kind', ['PNG', 'WEBP', 'TIFF', 'AVIF', 'TGA', 'JPEG2000'])
def test_an_opaque_alpha_channel_changes_nothing(kind: str) -> None:
    opaque = NOISE.convert('RGB')
    content = encoded(opaque.convert('RGBA'), kind, **dict(lossless=True) if kind == 'WEBP' else {})
    expected = np.asarray(Image.open(io.BytesIO(content)).convert('RGB'))
    np.testing.assert_array_equal(decode(content, 'a', background=(9, 9, 9))[0][..., ::-1], expected)


def png(width: int, bits: int, colours: int, row: bytes, *extra: bytes) -> bytes:
    """Return a PNG of one row; ``colours`` is 0 grey, 2 RGB, 4 grey and alpha, 6 RGB and alpha."""
    head = chunk(b'IHDR', struct.pack('>IIBBBBB', width, 1, bits, colours, 0, 0, 0))
    rows = chunk(b'IDAT', zlib.compress(b'\0' + row))
    return b'\x89PNG\r\n\x1a\n' + head + b''.join(extra) + rows + chunk(b'IEND', b'')


def key(*values: int) -> bytes:
    return chunk(b'tRNS', struct.pack(f'>{len(values)}H', *values))


@pytest.mark.parametrize(
    ('content', 'greys'),
    [
        # What the standard says; Pillow compares a key with values that it has scaled.
        (png(4, 2, 0, b'\x1b', key(2)), [0, 85, 255, 255]),
        (png(4, 4, 0, b'\x1b\x3f', key(3)), [17, 187, 255, 255]),
        (png(3, 16, 0, bytes.fromhex('010203040405'), key(0x0304)), [1, 255, 4]),
        (png(2, 16, 2, bytes.fromhex('070809090909' '400240024002'),
             key(0x4002, 0x4002, 0x4002)), [None, 255]),
        # 16 bits with alpha: half of 0x10 and half of white.
        (png(2, 16, 4, bytes.fromhex('10008000' '2000ffff')), [136, 32]),
        (png(2, 16, 6, bytes.fromhex('1000100010008000' '200020002000ffff')), [136, 32]),
    ],
)  # fmt: skip
def test_depths_of_png(content: bytes, greys: list[int]) -> None:
    pixels = decode(content, 'a.png')[0]
    for found, grey in zip(pixels[0].astype(int), greys, strict=True):
        assert grey is None or np.abs(found - grey).max() <= 1


def test_the_first_frame_of_an_animation() -> None:
    other = Image.new('RGBA', NOISE.size, (1, 2, 3, 255))
    for kind, mode, options in (('GIF', 'transparent palette', {}), ('PNG', 'RGBA', {}), ('WEBP', 'RGBA', {})):
        first = of_mode(mode)
        content = encoded(first, kind, save_all=True, append_images=[other.convert(first.mode)], **options)
        expected = on(WHITE, Image.open(io.BytesIO(content)))
        np.testing.assert_array_equal(decode(content, 'a')[0][..., ::-1], expected)


def test_a_transparent_png_with_texts_that_pillow_refuses_is_read() -> None:
    whole, text = encoded(NOISE, 'PNG'), chunk(b'zTXt', b'k\0\0' + zlib.compress(bytes(2**22)))
    np.testing.assert_array_equal(decode(whole[:33] + text + whole[33:], 'a.png')[0], on(WHITE, NOISE)[..., ::-1])


def test_a_turned_picture() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind in ('PNG', 'WEBP', 'TIFF'):
        options = dict(lossless=True, exact=True) if kind == 'WEBP' else {}
        pixels, *_ = decode(encoded(NOISE, kind, exif=exif, **options), 'a')
        upright = NOISE.transpose(Image.Transpose.ROTATE_270)
        np.testing.assert_array_equal(pixels[..., ::-1], on(WHITE, upright))


def test_with_channels_transparency_is_one_of_them(tmp_path: Path) -> None:
    NOISE.save(tmp_path / 'a.png')
    pixels = LoadChannels(4)({'img_path': str(tmp_path / 'a.png')})['img']
    np.testing.assert_array_equal(pixels[..., [2, 1, 0, 3]], np.asarray(NOISE))


@pytest.mark.parametrize('background', [(0, 0), (0, 0, 256), (0, 0, -1), (0, 0, 0.5), 'white', 3, (True, 0, 0)])
def test_what_is_no_colour_is_refused(background: object) -> None:
    with pytest.raises(UserError, match='background must be red, green and blue, whole numbers from 0 to 255'):
        LoadImage(background=background)


def test_how_many_images_have_transparency_is_said(tmp_path: Path) -> None:
    def said(pipeline: list[dict], most: int = 100) -> str:
        images = dict(type='FolderImages', source=str(tmp_path), pipeline=pipeline)
        return transparency(KeyedDataset(DATASETS.build(images)), most)

    for number in range(12):
        NOISE.convert('RGBA' if number % 4 == 0 else 'RGB').save(tmp_path / f'{number:02}.png')
    (tmp_path / 'damaged.png').write_bytes(b'no image')
    assert said([dict(type='LoadImage')]) == '3 of 13 images looked at have transparency, shown on white'
    on_black = [dict(type='LoadImage', background=(0, 0, 0))]
    assert said(on_black, most=5) == '1 of 5 images looked at have transparency, shown on rgb(0, 0, 0)'
    assert said([dict(type='LoadChannels', channels=4)]) == ''
    for number in (0, 4, 8):
        (tmp_path / f'{number:02}.png').unlink()
    assert said([dict(type='LoadImage')]) == ''
