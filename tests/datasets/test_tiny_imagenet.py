"""Tiny files in the layout of TinyImageNet's archive."""

from pathlib import Path

import pytest

from mixcl.datasets import TinyImageNet
from mixcl.errors import UserError


def test_both_splits(tmp_path: Path, write_images) -> None:
    images = [f'train/{wnid}/images/{wnid}_{number}.JPEG' for wnid in ('n02', 'n01') for number in range(3)]
    write_images(tmp_path, [*images, 'val/images/val_0.JPEG', 'val/images/val_1.JPEG'])
    (tmp_path / 'train/n01/n01_boxes.txt').write_text('')
    (tmp_path / 'val/val_annotations.txt').write_text('val_0.JPEG\tn02\t0\t0\t7\t7\nval_1.JPEG\tn01\t0\t0\t7\t7\n')
    train, val = TinyImageNet(str(tmp_path)), TinyImageNet(str(tmp_path), split='val')
    train.check_layout()
    assert train.get_gt_labels().tolist() == [0, 0, 0, 1, 1, 1]
    assert train.metainfo['classes'] == ('n01', 'n02')
    assert val.get_gt_labels().tolist() == [1, 0]
    assert all(Path(val.get_data_info(i)['img_path']).is_file() for i in range(2))
    with pytest.raises(UserError, match=r'train is missing; expected under .*val_annotations\.txt'):
        TinyImageNet(str(tmp_path / 'elsewhere'))
