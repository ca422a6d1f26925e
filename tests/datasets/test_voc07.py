"""VOC 2007's labels from annotations and from the official lists, and incomplete folders."""

from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import VOC_CLASSES, voc_image, voc_list
from mmpretrain.datasets import VOC

from mixcl.datasets import VOC07
from mixcl.errors import UserError

OBJECTS = {
    '000005': dict(chair=[0, 0, 1], dog=[1]),
    '000007': dict(car=[0], person=[1, 1]),
    '000009': dict(dog=[1, 0]),
    '000012': {},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / 'VOCdevkit/VOC2007'
    for name, objects in OBJECTS.items():
        voc_image(folder, name, objects)
    voc_list(folder, 'trainval', list(OBJECTS))
    return folder


def labels(dataset: VOC07) -> dict[str, list[int]]:
    present = torch.stack([dataset.get_data_info(number)['present'] for number in range(len(dataset))])
    assert present.dtype == torch.int8 and present.shape[1] == 20
    return {name: column.tolist() for name, column in zip(VOC_CLASSES, present.T, strict=True)}


def test_labels_of_the_annotations(folder: Path) -> None:
    dataset = VOC07(str(folder))
    found = labels(dataset)
    assert found['chair'] == [1, -1, -1, -1]
    assert found['dog'] == [0, -1, 1, -1]
    assert found['person'] == [-1, 0, -1, -1]
    assert found['car'] == [-1, 1, -1, -1]
    assert found['sofa'] == [-1] * 4
    assert dataset.metainfo['classes'] == VOC_CLASSES
    assert [Path(dataset.get_data_info(number)['img_path']).stem for number in range(4)] == list(OBJECTS)
    assert all(Path(dataset.get_data_info(number)['img_path']).is_file() for number in range(4))


def test_positives_are_those_of_mmpretrain(folder: Path) -> None:
    reference, found = VOC(str(folder), split='trainval'), VOC07(str(folder))
    for number in range(4):
        expected = sorted(reference.get_data_info(number)['gt_label'])
        assert (found.get_data_info(number)['present'] == 1).nonzero().flatten().tolist() == expected


@pytest.mark.parametrize('above', [0, 1, 2])
def test_any_of_the_folders_around_serves(folder: Path, above: int) -> None:
    assert len(VOC07(str([folder, *folder.parents][above]))) == 4


def test_the_official_list_of_a_class_decides(folder: Path) -> None:
    path = folder / 'ImageSets/Main/dog_trainval.txt'
    path.write_text('000009  1\n000005 -1\n000007  0\n000012 -1\n')
    found = labels(VOC07(str(folder)))
    assert found['dog'] == [-1, 0, 1, -1]
    assert found['chair'] == [1, -1, -1, -1]
    path.write_text('000009  1\n000005 -1\n000007  2\n000012 -1\n')
    with pytest.raises(UserError, match=r'dog_trainval\.txt should give the image 000007 a label of 1, 0 or -1, not 2'):
        VOC07(str(folder))
    path.write_text('000009  1\n')
    with pytest.raises(UserError, match='the image 000005 a label of 1, 0 or -1, not None'):
        VOC07(str(folder))


def test_annotations_are_not_needed_where_all_lists_exist(folder: Path) -> None:
    for number, name in enumerate(VOC_CLASSES):
        lines = [f'{image} {1 if place == number % 4 else -1:2d}' for place, image in enumerate(OBJECTS)]
        (folder / f'ImageSets/Main/{name}_trainval.txt').write_text('\n'.join(lines) + '\n')
    for path in (folder / 'Annotations').iterdir():
        path.unlink()
    assert labels(VOC07(str(folder)))['bicycle'] == [-1, 1, -1, -1]


def test_what_is_missing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'there is no ImageSets/Main/test\.txt in .*VOC2007, '):
        VOC07(str(folder), split='test')
    with pytest.raises(UserError, match="split must be one of train, val, trainval, test, not 'dev'"):
        VOC07(str(folder), split='dev')
    (folder / 'Annotations/000007.xml').write_text('<annotation><object>')
    with pytest.raises(UserError, match=r'the annotation .*000007\.xml cannot be read'):
        VOC07(str(folder))
    (folder / 'Annotations/000007.xml').unlink()
    with pytest.raises(UserError, match=r'the annotation .*000007\.xml cannot be read'):
        VOC07(str(folder))
