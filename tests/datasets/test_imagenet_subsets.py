"""Tiny files in the layout of the archives."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from mixcl.datasets import ImageNet100, TinyImageNet
from mixcl.errors import UserError


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((8, 8, 3), 128, np.uint8))


@pytest.fixture
def tiny_imagenet(tmp_path) -> Path:
    for wnid in ('n02', 'n01'):
        for number in range(3):
            picture(tmp_path / f'train/{wnid}/images/{wnid}_{number}.JPEG')
        (tmp_path / f'train/{wnid}/{wnid}_boxes.txt').write_text('')
    for number in range(2):
        picture(tmp_path / f'val/images/val_{number}.JPEG')
    (tmp_path / 'val/val_annotations.txt').write_text('val_0.JPEG\tn02\t0\t0\t7\t7\nval_1.JPEG\tn01\t0\t0\t7\t7\n')
    return tmp_path


def test_tiny_imagenet(tiny_imagenet):
    train, val = TinyImageNet(str(tiny_imagenet)), TinyImageNet(str(tiny_imagenet), split='val')
    assert [train.get_data_info(i)['gt_label'] for i in range(len(train))] == [0, 0, 0, 1, 1, 1]
    assert train.metainfo['classes'] == ('n01', 'n02')
    assert [val.get_data_info(i)['gt_label'] for i in range(2)] == [1, 0]
    assert all(Path(val.get_data_info(i)['img_path']).is_file() for i in range(2))


def test_tiny_imagenet_names_the_layout(tmp_path, tiny_imagenet):
    with pytest.raises(UserError, match=r'train is missing; expected under .*val_annotations\.txt'):
        TinyImageNet(str(tmp_path / 'elsewhere'))
    (tiny_imagenet / 'val/val_annotations.txt').write_text('val_0.JPEG\tn09\n')
    with pytest.raises(UserError, match=r"line 1 of .* names the class 'n09'"):
        TinyImageNet(str(tiny_imagenet), split='val')


@pytest.fixture
def imagenet(tmp_path) -> Path:
    wnids = [f'n{number:03d}' for number in range(103)]
    for wnid in wnids:
        picture(tmp_path / f'train/{wnid}/{wnid}_1.JPEG')
    (tmp_path / 'imagenet100.txt').write_text('\n'.join(wnids[3:]) + '\n')
    return tmp_path


def test_imagenet100(imagenet):
    dataset = ImageNet100(str(imagenet))
    assert len(dataset) == 100 and dataset.metainfo['classes'][0] == 'n003'
    assert dataset.get_data_info(99)['gt_label'] == 99


def test_imagenet100_says_what_is_wrong(imagenet):
    with pytest.raises(UserError, match=r'val.n003 is missing'):
        ImageNet100(str(imagenet), split='val')
    with pytest.raises(UserError, match=r'other\.txt is missing'):
        ImageNet100(str(imagenet), class_list='other.txt')
    (imagenet / 'imagenet100.txt').write_text('n001 n002')
    with pytest.raises(UserError, match='names 2 different classes'):
        ImageNet100(str(imagenet))
    with pytest.raises(UserError, match="split must be 'train' or 'val'"):
        ImageNet100(str(imagenet), split='test')
