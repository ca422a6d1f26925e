"""Images of 1, 4 and 13 channels, from the file to the views of a step."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmengine.dataset import default_collate
from mmengine.registry import DefaultScope

from mixcl.datasets import KeyedDataset, ViewPreprocessor
from mixcl.datasets.transforms.channels import LoadChannels
from mixcl.datasets.transforms.photometry import Operation, run_programs
from mixcl.datasets.unreadable import UnreadableImage
from mixcl.errors import UserError
from mixcl.registry import DATASETS

CROP = dict(type='mmpretrain.RandomResizedCrop', scale=16, backend='pillow', interpolation='bicubic')
JITTER = dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, backend='pillow')
COLOURS = dict(type='mmpretrain.ColorJitter', brightness=0.4, hue=0.1, backend='pillow')
GRAY = dict(type='RandomGrayscale', prob=0.2, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989))
BLUR = dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=0.5)
STEPS = [dict(type='RandomApply', prob=0.8, transforms=JITTER), BLUR, dict(type='RandomFlip', prob=0.5)]


def array(channels: int, kind: type = np.uint16) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200 if kind is np.uint8 else 10000, (20, 30, channels)).astype(kind)


def write(path: Path, image: np.ndarray) -> None:
    if path.suffix == '.npy':
        np.save(path, image)
    elif image.shape[2] > 4:
        cv2.imwritemulti(str(path), list(image.transpose(2, 0, 1)))
    else:
        cv2.imwrite(str(path), image)


def folder(root: Path, channels: int, steps: list[dict]) -> KeyedDataset:
    for number in range(4):
        np.save(root / f'{number}.npy', array(channels) // (number + 1))
    load = dict(type='LoadChannels', channels=channels, limits=(0, 10000))
    views = dict(type='KeyedMultiView', num_views=[2], transforms=[[CROP, *steps]])
    pipeline = [load, views, dict(type='mmpretrain.PackInputs')]
    with DefaultScope.overwrite_default_scope('mixcl'):
        images = dict(type='ImageFolder', data_root=str(root), extensions=['.npy'], pipeline=pipeline)
        return DATASETS.build(dict(type='KeyedDataset', views='device', dataset=images))


@pytest.mark.parametrize('kind', [np.uint8, np.uint16])
@pytest.mark.parametrize(('ending', 'channels'), [('npy', 1), ('npy', 13), ('png', 1), ('png', 4), ('tif', 13)])
def test_files(tmp_path: Path, ending: str, channels: int, kind: type) -> None:
    path, image = tmp_path / f'a.{ending}', array(channels, kind)
    write(path, image)
    limits = None if kind is np.uint8 else (1000, 6000)
    found = LoadChannels(channels, limits).transform(dict(img_path=str(path)))['img']
    expected = image if limits is None else np.clip((image.astype(float) - 1000) / 5000, 0, 1) * 255
    assert found.dtype == np.uint8
    np.testing.assert_allclose(found, expected, atol=0.501)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / 'a.npy'
    np.save(path, array(4))
    with pytest.raises(UserError, match=r'shape \(20, 30, 4\), but LoadChannels expects \(height, width, 13\)'):
        LoadChannels(13, (0, 1)).transform(dict(img_path=str(path)))
    with pytest.raises(UserError, match=r'values of type uint16: give LoadChannels limits='):
        LoadChannels(4).transform(dict(img_path=str(path)))
    with pytest.raises(UserError, match='two values, the smaller first'):
        LoadChannels(4, (1, 0))
    for content in (b'', b'no array', np.lib.format.MAGIC_PREFIX):
        for name in ('b.npy', 'b.tif'):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(UnreadableImage):
                LoadChannels(4, (0, 1)).transform(dict(img_path=str(tmp_path / name)))


@pytest.mark.parametrize('channels', [1, 4, 13])
def test_views_are_finished_and_normalised(tmp_path: Path, channels: int) -> None:
    dataset = folder(tmp_path, channels, STEPS)
    batch = default_collate([dataset[index] for index in range(4)])
    mean, std = list(range(channels)), [float(1 + number) for number in range(channels)]
    views = ViewPreprocessor(mean=mean, std=std)(batch)['inputs']
    raw = ViewPreprocessor()(batch)['inputs']
    for view, before in zip(views, raw, strict=True):
        assert view.shape == (4, channels, 16, 16)
        for number in range(channels):
            torch.testing.assert_close(view[:, number], (before[:, number] - number) / (1 + number))


def test_operations_treat_channels_alike() -> None:
    """Contrast needs the brightness of the whole image, which for equal channels is that of each."""
    one = torch.randint(0, 256, (2, 1, 16, 16), dtype=torch.uint8)
    colours = ((Operation.BRIGHTNESS, 1.2), (Operation.CONTRAST, 0.7), (Operation.SOLARIZE, 99.0))
    programs = torch.tensor([*colours, (Operation.BLUR, 1.1), (Operation.FLIP, 0.0)]).expand(2, -1, -1)
    alone = run_programs(one.clone(), programs)
    for channels in (4, 13):
        together = run_programs(one.repeat(1, channels, 1, 1), programs)
        torch.testing.assert_close(together, alone.expand(-1, channels, -1, -1), rtol=0, atol=1)


@pytest.mark.parametrize('step', [GRAY, dict(type='RandomApply', prob=0.5, transforms=COLOURS)])
def test_steps_for_colours_are_refused(tmp_path: Path, step: dict) -> None:
    with pytest.raises(UserError, match='saturation, hue and gray are for images of 3 channels, not 4: leave'):
        folder(tmp_path, 4, [step])[0]


def test_normalisations_that_do_not_fit() -> None:
    for settings in (dict(mean=[1.0] * 4, std=[1.0] * 3), dict(mean=[1.0] * 4, std=[1.0] * 4, to_rgb=True)):
        with pytest.raises(UserError, match='as many values as the images have channels, and to_rgb=False'):
            ViewPreprocessor(**settings)
