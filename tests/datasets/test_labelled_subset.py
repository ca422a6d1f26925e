"""Subsets of labels: by SimCLR's lists, and by an equal share of every class."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from own_sources import write_folder

from mixcl.datasets import Digits, KeyedDataset, LabelledSubset, SampleKey
from mixcl.datasets.labelled_subset import balanced_indices
from mixcl.errors import UserError

PACK = [dict(type='mmpretrain.PackInputs')]
ONE_OF_EACH_DIGIT = [106, 116, 312, 396, 638, 755, 1022, 1246, 1282, 1399]


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Write three classes of four images, as ImageNet lays them out."""
    names = [f'{wnid}/{wnid}_{number}.JPEG' for wnid in ('n01', 'n02', 'n03') for number in range(4)]
    write_folder(tmp_path / 'images', names)
    return tmp_path / 'images'


def images(folder: Path) -> dict:
    return dict(type='mmpretrain.CustomDataset', data_root=str(folder), pipeline=[dict(type='LoadImage'), *PACK])


def test_a_list_beside_the_images_or_somewhere_else(folders: Path, tmp_path: Path) -> None:
    (folders / '1percent.txt').write_text('n03_1.JPEG\nn01/n01_2.JPEG\n\nn02_0.JPEG 1\n')
    subset = LabelledSubset(images(folders), list_file='1percent.txt')
    infos = [subset.get_data_info(index) for index in range(len(subset))]
    assert [Path(info['img_path']).name for info in infos] == ['n01_2.JPEG', 'n02_0.JPEG', 'n03_1.JPEG']
    assert [info['gt_label'] for info in infos] == [0, 1, 2]
    assert tuple(subset.metainfo['classes']) == ('n01', 'n02', 'n03')
    (folders / 'n02/n02_3.JPEG').rename(folders / 'n02/n02 3.JPEG')
    (tmp_path / 'mine.txt').write_text('n02 3.JPEG')
    assert len(LabelledSubset(images(folders), list_file=str(tmp_path / 'mine.txt'))) == 1


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (None, r'10percent\.txt cannot be read \(No such file or directory\): put it there'),
        (b'\n \n', 'LabelledSubset has no images'),
        (b'n01_0.JPEG\nn01_9.JPEG\nn04_0.JPEG', r'2 of 3 names .* are not in the data set, for example n01_9\.JPEG'),
        (b'n01_1.JPEG\nn00_0.JPEG', r'1 of 2 names .* fit several images \(its first image is .n00_0\.JPEG'),
    ],
)
def test_a_list_that_does_not_fit(folders: Path, content: bytes | None, message: str) -> None:
    shutil.copytree(folders / 'n01', folders / 'n00')
    (folders / 'n00/n01_0.JPEG').rename(folders / 'n00/n00_0.JPEG')
    if content is not None:
        (folders / '10percent.txt').write_bytes(content)
    with pytest.raises(UserError, match=message):
        KeyedDataset(dict(type='LabelledSubset', dataset=images(folders), list_file='10percent.txt'))


def test_a_tenth_of_every_class_of_the_digits() -> None:
    whole, subset = Digits(), LabelledSubset(dict(type='Digits', pipeline=PACK), share=0.1)
    assert KeyedDataset(subset)[SampleKey(0, 0, 3)]['inputs'].shape == (3, 8, 8)
    counts = Counter(whole.get_gt_labels().tolist())
    assert Counter(subset.get_gt_labels().tolist()) == {label: round(n / 10) for label, n in counts.items()}
    # The key alone decides the choice, on every machine: other numbers here would change published results.
    assert sorted(balanced_indices(whole.get_gt_labels(), 0.01, seed=0)) == ONE_OF_EACH_DIGIT


def test_shares_are_nested_seeded_and_of_every_class_by_itself() -> None:
    labels = np.array([0] * 100 + [1] * 3 + [7])
    small, large = (balanced_indices(labels, share, seed=0) for share in (0.1, 0.5))
    assert Counter(labels[small].tolist()) == {0: 10, 1: 1, 7: 1}, 'rare classes keep an image'
    assert set(small) < set(large) and set(balanced_indices(labels, 0.1, seed=1)) != set(small)
    mixed = np.array([0, 1] * 20)
    alone = balanced_indices(mixed[mixed == 1], 0.2, seed=3)
    assert [index // 2 for index in balanced_indices(mixed, 0.2, seed=3) if mixed[index] == 1] == alone


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    (tmp_path / 'list.txt').write_text('0.png')
    with pytest.raises(UserError, match=r"not in the data set, for example 0\.png, .*'' ?\).* share=0\.1"):
        LabelledSubset(dict(type='Digits'), list_file=str(tmp_path / 'list.txt'))  # images in memory have no names
    for settings in (dict(), dict(list_file='a.txt', share=0.1), dict(share=0.0), dict(share=10)):
        with pytest.raises(UserError, match='either list_file or a share above 0 and at most 1, not'):
            LabelledSubset(dict(type='Digits'), **settings)
