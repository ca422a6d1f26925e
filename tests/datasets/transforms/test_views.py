"""Views are functions of their key; files of every kind become 8-bit BGR images."""

import io
import random
import warnings
from pathlib import Path

import mmcv
import numpy as np
import pytest
from mmcv.transforms import Compose
from mmpretrain.datasets import MultiView
from PIL import Image

from mixcl.datasets import ColourNoise, KeyedMultiView, LoadImage, RGBToBGR, SampleKey
from mixcl.datasets.transforms.views import ignore_colour_warning
from mixcl.datasets.unreadable import UnreadableImage

RED, GREEN, BLUE = 200, 100, 50
TRANSFORMS = {
    'crop': dict(type='mmpretrain.RandomResizedCrop', scale=12, backend='pillow', interpolation='bicubic'),
    'jitter': dict(
        type='RandomApply',
        prob=0.8,
        transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1),
    ),
    'grey': dict(type='RandomGrayscale', prob=0.5, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989)),
    'blur': dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=0.5),
    'solarize': dict(type='mmpretrain.Solarize', thr=128, prob=0.5),
    'flip': dict(type='RandomFlip', prob=0.5),
}


def noise_image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)


def disturb_generators(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)


@pytest.mark.parametrize('name', TRANSFORMS)
def test_each_transform_follows_the_key_alone(name: str) -> None:
    views = KeyedMultiView(num_views=[2], transforms=[[TRANSFORMS[name]]])

    def run(disturbance: int) -> list[bytes]:
        disturb_generators(disturbance)
        keys = [SampleKey(0, 0, index) for index in range(20)]
        results = [views({'img': noise_image(), 'sample_key': key})['img'] for key in keys]
        return [view.tobytes() for images in results for view in images]

    assert run(1) == run(2)
    # At least "on" and "off", so that the transform did draw.
    assert len(set(run(1))) >= 2


def test_views_number_on_over_the_pipelines() -> None:
    flip_or_not = [TRANSFORMS['crop'], TRANSFORMS['flip']]
    one_by_two = KeyedMultiView(num_views=[2], transforms=[flip_or_not])
    two_by_one = KeyedMultiView(num_views=[1, 1], transforms=[flip_or_not, flip_or_not])
    results = {'img': noise_image(), 'sample_key': SampleKey(0, 0, 0)}
    first, second = one_by_two(results)['img']
    assert not np.array_equal(first, second)
    assert np.array_equal([first, second], two_by_one(results)['img'])


def test_without_a_key_it_is_mmpretrains_multi_view() -> None:
    arguments = dict(num_views=[1, 2], transforms=[[TRANSFORMS['crop']], [TRANSFORMS['crop'], TRANSFORMS['flip']]])
    outputs = []
    for kind in (MultiView, KeyedMultiView):
        disturb_generators(3)
        outputs.append(kind(**arguments)({'img': noise_image()})['img'])
    assert np.array_equal(*outputs)


def test_a_transform_that_works_in_place_spoils_no_other_view() -> None:
    def blacken(results: dict) -> dict:
        results['img'][:] = 0
        return results

    first, second = KeyedMultiView(num_views=[1, 1], transforms=[[blacken], []])({'img': noise_image()})['img']
    assert first.max() == 0
    assert np.array_equal(second, noise_image())


def test_only_the_one_warning_is_silenced() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        ignore_colour_warning()
        mmcv.adjust_color(noise_image(), 0.5, backend='pillow')
        warnings.warn("Only use 'alpha' for something else", stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["Only use 'alpha' for something else"]


def colour_image(mode: str = 'RGB') -> Image.Image:
    return Image.new('RGB', (6, 4), (RED, GREEN, BLUE)).convert(mode)


def palette_image() -> Image.Image:
    return colour_image().quantize(4)


def load(path: Path) -> np.ndarray:
    return LoadImage()({'img_path': str(path)})['img']


@pytest.mark.parametrize(
    ('name', 'image', 'tolerance'),
    [
        ('rgb.png', colour_image(), 0),
        ('alpha.png', colour_image('RGBA'), 0),
        ('palette.png', palette_image(), 0),
        ('rgb.bmp', colour_image(), 0),
        ('rgb.tif', colour_image(), 0),
        ('rgb.ppm', colour_image(), 0),
        ('palette.gif', palette_image(), 0),
        ('rgb.webp', colour_image(), 4),
        ('rgb.jpg', colour_image(), 4),
        ('cmyk.jpg', colour_image('CMYK'), 4),
        ('cmyk.tif', colour_image('CMYK'), 4),
        ('only_pillow_reads_this.pcx', colour_image(), 0),
        ('wrong_extension.jpg.tga', colour_image(), 0),
    ],
)
def test_colour_files_of_every_kind(tmp_path: Path, name: str, image: Image.Image, tolerance: int) -> None:
    image.save(tmp_path / name)
    pixels = load(tmp_path / name)
    assert (pixels.dtype, pixels.shape) == (np.uint8, (4, 6, 3))
    assert np.abs(pixels.astype(int) - (BLUE, GREEN, RED)).max() <= tolerance


@pytest.mark.parametrize(
    ('name', 'image'),
    [
        ('grey.png', Image.new('L', (6, 4), 128)),
        ('grey.jpg', Image.new('L', (6, 4), 128)),
        ('grey_alpha.png', Image.new('LA', (6, 4), (128, 30))),
        ('16_bit.png', Image.new('I;16', (6, 4), 0x8000)),
        ('16_bit.tif', Image.new('I;16', (6, 4), 0x8000)),
    ],
)
def test_grey_files_get_three_equal_channels_of_8_bits(tmp_path: Path, name: str, image: Image.Image) -> None:
    image.save(tmp_path / name)
    pixels = load(tmp_path / name)
    assert (pixels.dtype, pixels.shape) == (np.uint8, (4, 6, 3))
    assert np.abs(pixels.astype(int) - 128).max() <= 1


def test_one_pixel_is_an_image(tmp_path: Path) -> None:
    Image.new('RGB', (1, 1), (RED, GREEN, BLUE)).save(tmp_path / '1.png')
    assert load(tmp_path / '1.png').tolist() == [[[BLUE, GREEN, RED]]]


def test_an_animation_gives_its_first_frame(tmp_path: Path) -> None:
    palette_image().save(tmp_path / 'two.gif', save_all=True, append_images=[Image.new('L', (6, 4))])
    assert load(tmp_path / 'two.gif')[0, 0].tolist() == [BLUE, GREEN, RED]


@pytest.mark.parametrize('extension', ['jpg', 'tif'])
def test_the_orientation_tag_turns_the_image(tmp_path: Path, extension: str) -> None:
    image = Image.new('L', (16, 8))
    image.paste(255, (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    image.save(tmp_path / f'turned.{extension}', exif=exif)
    pixels = load(tmp_path / f'turned.{extension}')
    assert pixels.shape == (16, 8, 3)
    assert pixels[:6].min() > 200
    assert pixels[10:].max() < 50


def encoded(extension: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(noise_image()).save(stream, format=extension)
    return stream.getvalue()


@pytest.mark.parametrize(
    ('content', 'reason'),
    [
        (b'', 'the file is empty'),
        (b'<html>404 not found</html>', 'not an image'),
        (encoded('jpeg')[:20], ''),
        (encoded('png')[:20], ''),
        (encoded('gif')[:8], ''),
        (encoded('webp')[:16], ''),
        (b'\xff\xd8\xff' + bytes(1000), ''),
    ],
)
def test_unreadable_files(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / 'broken.jpg'
    path.write_bytes(content)
    with pytest.raises(UnreadableImage) as caught:
        load(path)
    assert caught.value.path == str(path)
    assert 3 < len(caught.value.reason) < 200
    assert reason in caught.value.reason


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UnreadableImage, match='No such file'):
        load(tmp_path / 'none.png')
    with pytest.raises(UnreadableImage, match='Is a directory'):
        load(tmp_path)


def test_load_image_records_the_shape_and_passes_images_in_memory(tmp_path: Path) -> None:
    colour_image().save(tmp_path / 'a.png')
    results = LoadImage()({'img_path': str(tmp_path / 'a.png')})
    assert results['img_shape'] == results['ori_shape'] == (4, 6)
    in_memory = {'img': noise_image()}
    assert LoadImage()(in_memory) is in_memory


def test_rgb_to_bgr() -> None:
    flipped = Compose([RGBToBGR()])({'img': noise_image()})['img']
    assert np.array_equal(flipped, np.stack([noise_image()[..., channel] for channel in (2, 1, 0)], axis=-1))
    assert flipped.flags.c_contiguous


def test_colour_noise_keeps_the_order_of_colours_and_never_wraps_around() -> None:
    image = np.zeros((2, 2, 3), dtype=np.uint8)
    image[...] = (255, 100, 0)
    np.random.seed(0)
    outputs = np.stack([ColourNoise()({'img': image})['img'][0, 0] for _ in range(2000)])
    noise = outputs - (255, 100, 0)
    assert np.abs(noise).max() < 30
    assert outputs[:, 0].max() > 255 and outputs[:, 2].min() < 0
    # Red varies with the first and the second component, and blue with the opposite of the second.
    rgb = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    rgb = rgb * 0.1 * np.array([55.4625, 4.7940, 1.1475])
    assert np.cov(noise[:, ::-1].T) == pytest.approx(rgb @ rgb.T, rel=0.1)
    assert noise.mean(axis=0) == pytest.approx([0, 0, 0], abs=0.3)
