"""Files of every kind become 8-bit BGR images, say what was converted, or why they cannot be read."""

import contextlib
import io
import os
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from own_sources import chunk, encoded
from PIL import EpsImagePlugin, Image, ImageOps, PngImagePlugin, TiffImagePlugin

from mixcl.datasets import LoadImage
from mixcl.datasets.transforms.decoding import decode
from mixcl.datasets.unreadable import UnreadableImage

RED, GREEN, BLUE = 200, 100, 50
COLOUR = Image.new('RGB', (6, 4), (RED, GREEN, BLUE))
NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 24, 3), dtype=np.uint8))
PALETTE = COLOUR.quantize(4)


def load(path: Path) -> np.ndarray:
    return LoadImage()({'img_path': str(path)})['img']


def test_camera_data_that_pillow_refuses_do_not_cost_the_image() -> None:
    plain = encoded(COLOUR, 'JPEG')
    odd = plain[:2] + b'\xff\xe2\x00\x0eICC_PROFILE\x00' + plain[2:]
    np.testing.assert_array_equal(decode(odd, 'odd.jpg')[0], decode(plain, 'plain.jpg')[0])


@pytest.mark.parametrize(
    ('name', 'image', 'conversion'),
    [
        ('rgb.png', COLOUR, None),
        ('alpha.png', COLOUR.convert('RGBA'), 'transparent, shown on white'),
        ('rgb.tif', COLOUR, None),
        ('palette.gif', PALETTE, None),
        ('rgb.webp', COLOUR, None),
        ('rgb.jpg', COLOUR, None),
        ('cmyk.tif', COLOUR.convert('CMYK'), 'four channels'),
        ('only_pillow_reads_this.pcx', COLOUR, None),
        ('wrong_extension.jpg.tga', COLOUR, None),
        ('grey.jpg', Image.new('L', (6, 4), 128), 'grey'),
        ('16_bit.tif', Image.new('I;16', (6, 4), 0x8000), '16-bit'),
    ],
)
def test_files_of_every_kind(tmp_path: Path, name: str, image: Image.Image, conversion: str | None) -> None:
    image.save(tmp_path / name)
    results = LoadImage()({'img_path': str(tmp_path / name)})
    pixels = results['img']
    assert (pixels.dtype, pixels.shape) == (np.uint8, (4, 6, 3))
    assert results['img_shape'] == results['ori_shape'] == (4, 6)
    expected = (128,) * 3 if conversion in ('grey', '16-bit') else (BLUE, GREEN, RED)
    lossy = name.endswith(('jpg', 'webp', 'cmyk.tif')) or conversion == '16-bit'
    assert np.abs(pixels.astype(int) - expected).max() <= 4 * lossy
    assert results.get('conversion') == ((str(tmp_path / name), conversion, 'converted') if conversion else None)


def test_16_bit_colour_one_pixel_and_an_animation() -> None:
    colour = np.full((4, 6, 3), 0x8000, dtype=np.uint16)
    pixels, note, _ = decode(cv2.imencode('.png', colour)[1].tobytes(), 'a.png')
    assert note.kind == '16-bit' and abs(int(pixels[0, 0, 0]) - 128) <= 1
    pixels, note, _ = decode(encoded(COLOUR.resize((1, 1)), 'PNG'), '1.png')
    assert note.kind == 'tiny' and pixels.tolist() == [[[BLUE, GREEN, RED]]]
    animation = encoded(PALETTE, 'GIF', save_all=True, append_images=[Image.new('L', (6, 4))])
    assert decode(animation, 'two.gif')[0][0, 0].tolist() == [BLUE, GREEN, RED]


TURNED = Image.Exif()
TURNED[0x0112] = 6


def xmp(orientation: int) -> bytes:
    return f'<x:xmpmeta><rdf:Description tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()


def in_xmp(kind: str, orientation: int) -> dict:
    text, tags = PngImagePlugin.PngInfo(), TiffImagePlugin.ImageFileDirectory_v2()
    text.add_itxt('XML:com.adobe.xmp', xmp(orientation).decode(), zip=True)
    tags[700] = xmp(orientation)
    return dict(PNG=dict(pnginfo=text), TIFF=dict(tiffinfo=tags)).get(kind, dict(xmp=xmp(orientation)))


def in_exif(kind: str, orientation: int) -> dict:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return dict(exif=exif)


@pytest.mark.parametrize('kind', ['JPEG', 'PNG', 'WEBP', 'AVIF', 'TIFF'])
@pytest.mark.parametrize('orientation', range(1, 9))
@pytest.mark.parametrize('told', [in_exif, in_xmp])
def test_an_orientation_in_exif_or_xmp_turns_as_pillow_does(told: Callable, kind: str, orientation: int) -> None:
    content = encoded(NOISE, kind, **told(kind, orientation))
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    assert (upright.size == NOISE.size) == (orientation < 5)
    np.testing.assert_array_equal(decode(content, 'turned')[0], np.asarray(upright.convert('RGB'))[..., ::-1])


def test_exif_counts_before_xmp_and_jpegs_without_xmp_are_shrunk_while_decoding() -> None:
    exif, large = TURNED, NOISE.resize((240, 200))
    for options in (dict(xmp=xmp(6)), dict(xmp=xmp(6), exif=exif), dict(xmp=xmp(3), exif=exif), dict(exif=exif)):
        content, factor = encoded(large, 'JPEG', **options), 1 if 'xmp' in options else 2
        shrunk, _, full = decode(content, 'a.jpg', lambda shape: 2)
        assert (shrunk.shape, full) == ((240 // factor, 200 // factor, 3), (240, 200))
        assert np.array_equal(decode(content, 'a.jpg')[0], decode(encoded(large, 'JPEG', exif=exif), 'a.jpg')[0])


def test_orientations_that_are_none_turn_nothing() -> None:
    word = b'Exif\0\0II*\0' + struct.pack('<IHHHI4sI', 8, 1, 0x0112, 2, 4, b'abc', 0)
    for options in (dict(exif=word), dict(exif=word, xmp=xmp(6)), dict(xmp=xmp(9)), dict(exif=b'Exif\0\0no')):
        for reduction in (None, *[lambda _: 2] * ('xmp' not in options)):
            pixels, *_ = decode(encoded(NOISE, 'JPEG', **options), 'a.jpg', reduction)
            assert np.array_equal(pixels, decode(encoded(NOISE, 'JPEG'), 'a.jpg', reduction)[0])


# Width, height, bits, no compression, 0 is black, offset of the row, channels, rows, bytes.
TIFF_TAGS = [(256, 3), (257, 1), (258, 12), (259, 1), (262, 1), (273, 8), (277, 1), (278, 1), (279, 5)]
TIFF_OF_12_BITS = b''.join([
    *(b'II*\0', struct.pack('<I', 14), b'\x00\x08\x00\xff\xf0\x00', struct.pack('<H', len(TIFF_TAGS))),
    *(struct.pack('<HHII', tag, 3, 1, value) for tag, value in TIFF_TAGS),
    bytes(4),
])  # fmt: skip


@pytest.mark.parametrize(
    ('content', 'values'),
    [
        (b'P5 3 1 15\n\x00\x07\x0f', [0, 119, 255]),
        (b'P5 3 1 1023\n\x00\x00\x01\xff\x03\xff', [0, 127, 255]),
        (b'P5 3 1 65535\n\x00\x00\x7f\xff\xff\xff', [0, 127, 255]),
        (b'P6 1 1 15\n\x0f\x07\x00', [0, 119, 255]),
        (encoded(Image.fromarray(np.array([[0, 0x7FFF, 0xFFFF]], np.uint16)), 'TIFF'), [0, 127, 255]),
        (encoded(Image.fromarray(np.array([[0, 0x7FFF, 0xFFFF]], np.uint16)), 'PNG'), [0, 127, 255]),
        (TIFF_OF_12_BITS, [0, 128, 255]),
    ],
)
def test_values_are_scaled_to_8_bits(content: bytes, values: list[int]) -> None:
    pixels = decode(content, 'a.pgm')[0]
    assert (pixels[0, :, 0] if pixels.shape[1] == 3 else pixels[0, 0]).tolist() == values


@pytest.mark.parametrize(
    'values', [np.array([[0, 70_000]], np.int32), np.array([[0, 0.5]], np.float32), np.array([[np.nan]], np.float32)]
)
def test_values_of_unknown_range_are_refused(values: np.ndarray) -> None:
    content = encoded(Image.fromarray(values), 'TIFF')
    with pytest.raises(UnreadableImage, match='of unknown range: scale them to 8 bits, or use LoadChannels'):
        decode(content, 'a.tif')


def claiming(kind: str, side: int = 13_000) -> bytes:
    """Return a small file whose header claims a square of pixels."""
    content = encoded(NOISE, kind)
    code = {'JPEG': '>HH', 'BMP': '<ii', 'PNG': '>II', 'GIF': '<HH'}[kind]
    sides = (20, 24) if kind == 'JPEG' else (24, 20)
    return content.replace(struct.pack(code, *sides), struct.pack(code, side, side), 1)


@pytest.mark.parametrize(
    ('content', 'kind'),
    [
        (b'', 'empty'),
        (b'<html>404 not found</html>', 'no image'),
        (claiming('JPEG', 65_000), 'too large'),
        (claiming('BMP', 65_000), 'too large'),
        (encoded(NOISE, 'JPEG')[:-200], 'truncated'),
        (encoded(NOISE, 'PNG')[:-200], 'truncated'),
        (encoded(NOISE, 'JPEG')[:20], None),
        (encoded(NOISE, 'GIF')[:8], None),
        (b'\xff\xd8\xff' + bytes(1000), None),
    ],
)
def test_unreadable_files(tmp_path: Path, content: bytes, kind: str | None) -> None:
    path = tmp_path / 'broken.jpg'
    path.write_bytes(content)
    with pytest.raises(UnreadableImage) as caught:
        load(path)
    assert caught.value.note.path == str(path) and 3 < len(caught.value.note.reason) < 200
    assert str(caught.value) == f'{path} ({caught.value.note.reason})'
    assert kind in (caught.value.note.kind, None)


@pytest.mark.parametrize(
    ('mode', 'options'),
    [
        ('RGB', {}), ('RGB', dict(progressive=True)), ('RGB', dict(restart_marker_blocks=2)),
        ('RGB', dict(exif=TURNED)), ('L', {}), ('CMYK', {}),
    ],
)  # fmt: skip
def test_a_jpeg_that_was_cut_and_has_an_end_mark(mode: str, options: dict) -> None:
    """Decoders show the rest in grey; an image that really is grey there has the same pixels as without the check."""
    whole = encoded(NOISE.resize((200, 150)).convert(mode), 'JPEG', **options)
    for share in (0.3, 0.4, 0.5) if 'progressive' in options else (0.3, 0.5, 0.7, 0.9):
        for reduction in (None, lambda shape: 2):
            with pytest.raises(UnreadableImage, match='its rest is grey'):
                decode(whole[: int(share * len(whole))] + b'\xff\xd9', 'cut.jpg', reduction)
    grey = Image.new('RGB', (200, 150), (128,) * 3)
    grey.paste(NOISE, (20, 30))
    for content in (whole, whole[:-2] + b'more' + whole[-2:], encoded(grey.convert(mode), 'JPEG', **options)):
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        np.testing.assert_array_equal(decode(content, 'whole.jpg')[0], pixels)


def size_chunk(side: int) -> bytes:
    return chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0))


@pytest.mark.parametrize(
    ('chunks', 'reason'),
    [
        ([size_chunk(65_000), chunk(b'tEXt', b'k\0a', error=1)], 'too many pixels'),
        ([chunk(b'tEXt', b'k\0a', error=1), size_chunk(2000)], 'not an image'),
        ([size_chunk(8), chunk(b'tEXt', b'k\0a'), size_chunk(2000)], '2000 x 2000 pixels after a header of 8 x 8'),
    ],
)
def test_no_more_is_unpacked_than_the_header_says(chunks: list[bytes], reason: str) -> None:
    rows = chunk(b'IDAT', zlib.compress(bytes(2000 * 6001)))
    with pytest.raises(UnreadableImage, match=reason):
        decode(b'\x89PNG\r\n\x1a\n' + b''.join(chunks) + rows + chunk(b'IEND', b''), 'a.png')


@pytest.mark.parametrize('content', [*map(claiming, ('JPEG', 'BMP', 'PNG', 'GIF')), b'P6 13000 13000 255\n'])
def test_no_more_is_unpacked_than_the_bytes_can_hold(content: bytes) -> None:
    with pytest.raises(UnreadableImage, match=r'too many pixels: 13000 x 13000 in [0-9,]+ bytes'):
        decode(content, 'a.png')


def test_a_blank_page_is_read() -> None:
    for kind in ('PNG', 'JPEG', 'TIFF'):
        content = encoded(Image.new('1' if kind != 'JPEG' else 'L', (4200, 4200), 1), kind)
        assert decode(content, 'blank')[0].shape == (4200, 4200, 3)
    dense = encoded(Image.new('RGB', (4200, 4200)), 'JPEG2000')
    assert len(dense) < 4200**2 / 30_000 and decode(dense, 'blank')[0].shape == (4200, 4200, 3)


def highest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_no_more_is_unpacked_than_a_chunk_has(tmp_path: Path) -> None:
    """OpenCV allocates all that a chunk claims to have, here 2 GB."""
    rows = zlib.compress(bytes(8 * 25))
    for kind in (b'tEXt', b'IDAT'):
        long = chunk(kind, rows)
        (tmp_path / 'a.png').write_bytes(
            b'\x89PNG\r\n\x1a\n' + size_chunk(8) + struct.pack('>I', 0x7FFFFFFF) + long[4:] + chunk(b'IEND', b'')
        )
        before = highest_memory()
        with contextlib.suppress(UnreadableImage):
            load(tmp_path / 'a.png')
        assert highest_memory() - before < 2**30


def test_no_program_reads_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would give EPS, which is a program, to Ghostscript."""
    (tmp_path / 'gs').write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\n')
    (tmp_path / 'gs').chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(EpsImagePlugin, 'gs_binary', None)
    with pytest.raises(UnreadableImage, match='not an image'):
        decode(encoded(COLOUR, 'EPS'), 'a.jpg')
    assert not (tmp_path / 'ran').exists()


def test_what_is_no_file_or_a_large_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'pipe.png')
    with open(tmp_path / 'large.png', 'wb') as file:
        file.truncate(2**30 + 1)
    for name, reason in (
        ('none.png', 'No such file'),
        ('', 'a folder, not a file'),
        ('pipe.png', 'a pipe or a device, not a file'),
        ('/dev/zero', 'a pipe or a device, not a file'),
        ('large.png', 'too large: 1,073,741,825 bytes, 1,073,741,824 are the most'),
    ):
        with pytest.raises(UnreadableImage, match=reason):
            load(tmp_path / name)


def test_images_in_memory_pass() -> None:
    in_memory = {'img': np.zeros((4, 6, 3), np.uint8)}
    assert LoadImage()(in_memory) is in_memory
