"""Views cut from reduced copies of photos are those of the photos, whatever the folder of copies holds."""

import io
import os
import shutil
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from own_sources import encoded, write_all, write_folder
from PIL import Image

from mixcl.datasets import KeyedDataset, LoadImage
from mixcl.datasets.transforms.photo_cache import HEAD
from mixcl.errors import UserError
from mixcl.recipes.own_data import source_config
from mixcl.registry import DATASETS

RATIOS = (0.2, 1.0)
CROP = dict(type='RecordedResizedCrop', scale=32, crop_ratio_range=RATIOS, backend='pillow', interpolation='bicubic')
VIEWS = dict(type='KeyedMultiView', num_views=[2], transforms=[[CROP]])
PIPELINE = [dict(type='LoadImage'), VIEWS, dict(type='mmpretrain.PackInputs')]
SHAPE = 480, 643
SCALE = (32**2 / 0.75 / 0.2 / (480 * 643)) ** 0.5


def photo(seed: int = 0, width: int = SHAPE[1], height: int = SHAPE[0]) -> Image.Image:
    """Return a photo of soft colours."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.BICUBIC)


jpeg = partial(encoded, kind='JPEG', quality=95)


def data_set(photos: Path, cache: Path | None, gigabytes: float = 1.0, **images: object) -> KeyedDataset:
    source = images or dict(type='ImageFolder', data_root=str(photos))
    settings = None if cache is None else dict(folder=str(cache), gigabytes=gigabytes)
    return KeyedDataset(DATASETS.build(dict(**source, pipeline=PIPELINE)), 'device', settings)


def drawn(dataset: KeyedDataset, index: int = 0, number: int = 10) -> list[dict]:
    """Return the views of an image under several keys."""
    views, _ = dataset.pipelines[0]
    info = dataset.get_data_info(index)
    return [view for epoch in range(number) for view in views.drawn({**info, 'sample_key': (0, epoch, index)})[1]]


def pixels(dataset: KeyedDataset, index: int = 0) -> np.ndarray:
    return np.stack([view['img'] for view in drawn(dataset, index)])


def copies(cache: Path) -> list[Path]:
    return sorted(cache.glob('??/*'))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return write_folder(tmp_path / 'photos', {'a.jpg': jpeg(photo())})


def test_views_show_the_same_region(tmp_path: Path) -> None:
    exif, upright = Image.Exif(), photo()
    exif[0x0112] = 6  # turned by a right angle when read
    turned = jpeg(upright.transpose(Image.Transpose.ROTATE_90), exif=exif)
    write_folder(tmp_path / 'photos', {'a.jpg': turned, 'b.jpg': jpeg(upright), 'c.png': encoded(upright, 'PNG')})
    plain, cached = data_set(tmp_path / 'photos', None), data_set(tmp_path / 'photos', tmp_path / 'cache')
    plain.pipelines[0][0]._reduction = lambda *_: 1  # reads whole photos
    differences = []
    for index in range(3):
        for whole, now in zip(drawn(plain, index), drawn(cached, index), strict=True):
            assert now['ori_shape'] == SHAPE and now['full_shape'] == SHAPE
            sides = np.tile(whole['crop_box'][2:], 2)
            assert (np.abs(np.subtract(whole['crop_box'], now['crop_box'])) / sides).max() < 1 / 31  # a pixel
            differences.append(np.abs(whole['img'].astype(int) - now['img']).mean())
            top, left, height, width = now['crop_box']
            same = upright.resize((32, 32), Image.BICUBIC, box=(left, top, left + width, top + height))
            assert np.abs(np.asarray(same)[..., ::-1].astype(int) - now['img']).mean() < 4
    assert np.mean(differences) < 4 and max(differences) < 10, 'boxes are of whole pixels of the copy'
    found = [Image.open(io.BytesIO(copy.read_bytes()[HEAD.size :])).size for copy in copies(tmp_path / 'cache')]
    assert found == [(round(643 * SCALE), round(480 * SCALE))] * 3


def test_copies_are_of_what_people_see(tmp_path: Path) -> None:
    """All is transparent, and noise is hidden in it."""
    hidden = np.random.default_rng(0).integers(0, 256, (*SHAPE, 4), dtype=np.uint8)
    hidden[..., 3] = 0
    (tmp_path / 'photos').mkdir()
    Image.fromarray(hidden).save(tmp_path / 'photos/a.png')
    cases = [(255, None), (255, 'cache'), (255, 'cache'), (0, 'cache'), (255, 'cache')]  # made, read, made anew, read
    for level, cache in cases:
        dataset = data_set(tmp_path / 'photos', None if cache is None else tmp_path / cache)
        dataset.pipelines[0][0].load = LoadImage(background=(level,) * 3)
        assert np.abs(pixels(dataset).astype(int) - level).max() <= 1
    assert len(copies(tmp_path / 'cache')) == 2


def cut_off(cache: Path) -> None:
    (copy,) = copies(cache)
    copy.write_bytes(copy.read_bytes()[:-10])


def zeroed(cache: Path) -> None:
    (copy,) = copies(cache)
    copy.write_bytes(copy.read_bytes()[:200] + bytes(len(copy.read_bytes()) - 200))


def half_written(cache: Path) -> None:
    (copy,) = copies(cache)
    unfinished = copy.rename(f'{copy}.00000000.part')
    unfinished.write_bytes(b'half')
    os.utime(unfinished, (0, 0))


def in_the_way(cache: Path) -> None:
    shutil.rmtree(cache)
    cache.write_text('no folder')


def miscounted(cache: Path) -> None:
    shutil.rmtree(copies(cache)[0].parent)
    (cache / 'bytes').write_text('-5')


def count_is_a_pipe(cache: Path) -> None:
    shutil.rmtree(copies(cache)[0].parent)
    (cache / 'bytes').unlink()
    os.mkfifo(cache / 'bytes')


DAMAGES = [cut_off, zeroed, half_written, shutil.rmtree, in_the_way, lambda cache: None, miscounted, count_is_a_pipe]


@pytest.mark.parametrize('damage', DAMAGES)
def test_the_folder_does_not_change_the_views(photos: Path, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    dataset = data_set(photos, tmp_path / 'cache')
    expected = pixels(dataset)
    (whole,) = [copy.read_bytes() for copy in copies(tmp_path / 'cache')]
    damage(tmp_path / 'cache')
    for _ in range(2):
        np.testing.assert_array_equal(pixels(dataset), expected)
    if damage is not in_the_way:
        assert [copy.read_bytes() for copy in copies(tmp_path / 'cache')] == [whole]
        count = int((tmp_path / 'cache/bytes').read_text())
        assert count == len(whole) or (damage in (cut_off, half_written) and count > len(whole))
        assert dataset.copies is not None and dataset.copies.advice([SHAPE], 1, 0.0) == ''


@pytest.mark.parametrize('gigabytes', [float('nan'), float('inf'), -1, 0, True, '1'])
def test_sizes_that_are_none_are_refused(photos: Path, tmp_path: Path, gigabytes: object) -> None:
    with pytest.raises(UserError, match=r'PhotoCache: gigabytes must be a finite number above 0, not '):
        data_set(photos, tmp_path / 'cache', gigabytes)


def test_a_changed_photo_is_read_anew(photos: Path, tmp_path: Path) -> None:
    dataset = data_set(photos, tmp_path / 'cache')
    before, time = pixels(dataset), (photos / 'a.jpg').stat().st_mtime_ns
    (photos / 'a.jpg').write_bytes(jpeg(photo(1)))
    os.utime(photos / 'a.jpg', ns=(time, time))  # only the size differs
    now = pixels(dataset)
    np.testing.assert_array_equal(now, pixels(data_set(photos, tmp_path / 'other')))
    assert np.abs(before.astype(int) - now).mean() > 20
    os.utime(photos / 'a.jpg', ns=(time, time + 1))  # only the time differs
    (copy,) = copies(tmp_path / 'cache')
    written = copy.read_bytes()
    pixels(dataset)
    assert copy.read_bytes()[: HEAD.size] != written[: HEAD.size] and len(copies(tmp_path / 'cache')) == 1
    assert int((tmp_path / 'cache/bytes').read_text()) == copy.stat().st_size, 'in place of the earlier copy'


@pytest.mark.parametrize('how', ['written', 'replaced', 'on a file system without inodes and times of change'])
def test_a_changed_photo_of_the_same_size_and_time_is_read_anew(
    how: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, contents = photos / 'a.jpg', [jpeg(photo(seed)) for seed in range(2)]
    size = max(map(len, contents))
    dataset, found, stats = data_set(photos, tmp_path / 'cache'), [], []
    for content in contents:
        written = tmp_path / 'new.jpg' if how == 'replaced' else path
        written.write_bytes(content.ljust(size, b'\0'))
        os.utime(written, (1e9, 1e9))
        written.replace(path)
        stats.append(path.stat())
        if how.startswith('on'):
            monkeypatch.setattr(os, 'fstat', lambda handle: stats[0])
        assert path.stat().st_size == size and path.stat().st_mtime == 1e9
        found.append(pixels(dataset))
        monkeypatch.undo()
    np.testing.assert_array_equal(found[1], pixels(data_set(photos, tmp_path / 'other')))
    assert np.abs(found[0].astype(int) - found[1]).mean() > 20


def test_only_photos_that_become_much_smaller_are_copied(tmp_path: Path) -> None:
    """Copies keep the 6,827 pixels that the smallest crop needs, and a panorama's short side those of a view."""
    files = {'a.jpg': jpeg(photo(0, 116, 116)), 'b.jpg': jpeg(photo(0, 118, 118)), 'c.jpg': jpeg(photo(0, 3000, 48))}
    write_folder(tmp_path / 'photos', files | {'d.jpg': jpeg(photo(0, 3000, 40))})
    plain, cached = data_set(tmp_path / 'photos', None), data_set(tmp_path / 'photos', tmp_path / 'cache')
    shapes = []
    for index in range(4):
        pixels(cached, index)
        found = [HEAD.unpack_from(copy.read_bytes())[:2] for copy in copies(tmp_path / 'cache')]
        shapes += [shape for shape in found if shape not in shapes]
    assert shapes == [(118, 118), (48, 3000)]
    np.testing.assert_array_equal(pixels(plain), pixels(cached))


def all_pixels(photos: Path, cache: Path) -> list[np.ndarray]:
    dataset = data_set(photos, cache)
    return [pixels(dataset, index) for index in range(len(dataset))]


def test_processes_share_a_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / 'photos', {f'{seed}.jpg': jpeg(photo(seed)) for seed in range(12)})
    with get_context('fork').Pool(3) as pool:
        found = pool.starmap(all_pixels, [(tmp_path / 'photos', tmp_path / 'cache')] * 6, chunksize=1)
    np.testing.assert_array_equal(found, [all_pixels(tmp_path / 'photos', tmp_path / 'alone')] * 6)
    shared, alone = ([copy.read_bytes() for copy in copies(tmp_path / name)] for name in ('cache', 'alone'))
    assert shared == alone and len(shared) == 12
    assert int((tmp_path / 'cache/bytes').read_text()) >= int((tmp_path / 'alone/bytes').read_text())
    assert int((tmp_path / 'alone/bytes').read_text()) == sum(map(len, alone))


def test_a_full_cache_says_so_and_grows_no_more(tmp_path: Path) -> None:
    write_folder(tmp_path / 'photos', {f'{seed}.jpg': jpeg(photo(seed)) for seed in range(6)})
    all_pixels(tmp_path / 'photos', tmp_path / 'whole')
    sizes = [copy.stat().st_size for copy in copies(tmp_path / 'whole')]
    small = data_set(tmp_path / 'photos', tmp_path / 'cache', (sum(sizes) - 1) * 1e-9)
    assert small.copies.advice([SHAPE], 6, 0.0) == ''
    found = [pixels(small, index) for index in range(6)]
    np.testing.assert_array_equal(found, all_pixels(tmp_path / 'photos', tmp_path / 'whole'))
    assert len(copies(tmp_path / 'cache')) == 5
    said = small.copies.advice([SHAPE], 6, 0.0)
    assert said == f'`cache={tmp_path}/cache` is full: raise `cache_size`, or delete it and make room'
    shutil.rmtree(copies(tmp_path / 'cache')[0].parent)
    pixels(small, 5)
    assert len(copies(tmp_path / 'cache')) == 4, 'full until it is deleted, or may be larger'
    (tmp_path / 'cache/bytes').unlink()
    larger = data_set(tmp_path / 'photos', tmp_path / 'cache')
    assert [pixels(larger, index).shape for index in range(6)] and len(copies(tmp_path / 'cache')) == 6
    assert int((tmp_path / 'cache/bytes').read_text()) == sum(sizes), 'counted anew'
    assert larger.copies.advice([SHAPE], 6, 0.9) == ''


def test_what_a_cache_would_take_is_said_where_steps_wait_for_large_photos(photos: Path) -> None:
    copies = data_set(photos, None).copies
    copies.pixels, copies.side = 1_338_027, 224
    large, small = (3000, 4000), (1000, 2000)
    assert copies.advice([large] * 3 + [small], 6000, 0.61) == (
        'photos of 12 megapixels: 61% of a step waits for data; `cache=DIR` would take about 2.1 GB'
    )
    assert [copies.advice([small], 6000, 0.61), copies.advice([large], 6000, 0.1)] == ['', '']


@pytest.mark.parametrize('kind', ['list', 'tar', 'hf'])
def test_images_of_any_source(tmp_path: Path, kind: str) -> None:
    files = {f'ant/{seed}.jpg': jpeg(photo(seed)) for seed in range(2)}
    dataset = data_set(tmp_path, tmp_path / 'cache', **source_config(write_all(tmp_path, files)[kind]))
    expected = all_pixels(tmp_path / 'photos', tmp_path / 'other')
    for _ in range(2):
        np.testing.assert_array_equal([pixels(dataset, index) for index in range(2)], expected)
    assert len(copies(tmp_path / 'cache')) == 2


def test_views_that_no_copy_serves_are_refused(photos: Path, tmp_path: Path) -> None:
    images = dict(type='ImageFolder', data_root=str(photos), pipeline=PIPELINE)
    flips = [PIPELINE[0], dict(PIPELINE[1], transforms=[[dict(type='RandomFlip', prob=0.5)]]), PIPELINE[2]]
    for dataset, views in ((images, 'pillow'), (dict(images, pipeline=flips), 'device')):
        with pytest.raises(UserError, match="`cache` needs views='device' and a pipeline of LoadImage and crops by "):
            KeyedDataset(dataset, views, dict(folder=str(tmp_path), gigabytes=1))
