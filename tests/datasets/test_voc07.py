"""VOC 2007's labels, difficult objects apart, and incomplete folders."""

from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import VOC_CLASSES, voc_image, voc_list

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


def test_labels_of_the_annotations(folder: Path) -> None:
    for root in (folder, *folder.parents[:2]):  # any of the folders around serves
        dataset = VOC07(str(root))
        images = [dataset.get_data_info(number) for number in range(len(dataset))]
        assert [image['img_path'] for image in images] == [str(folder / f'JPEGImages/{name}.jpg') for name in OBJECTS]
    assert dataset.metainfo['classes'] == VOC_CLASSES
    present = torch.stack([image['present'] for image in images])
    assert present.dtype == torch.int8
    labels = {name: column.tolist() for name, column in zip(VOC_CLASSES, present.T, strict=True)}
    assert labels.pop('chair') == [1, -1, -1, -1]
    assert labels.pop('dog') == [0, -1, 1, -1]
    assert labels.pop('person') == [-1, 0, -1, -1]
    assert labels.pop('car') == [-1, 1, -1, -1]
    assert all(column == [-1] * 4 for column in labels.values())


def test_what_is_missing(folder: Path) -> None:
    with pytest.raises(UserError, match=r'there is no ImageSets/Main/test\.txt in .*VOC2007, '):
        VOC07(str(folder), split='test')
    path = folder / 'Annotations/000007.xml'
    for damage in (lambda: path.write_text('<annotation><object>'), path.unlink):
        damage()
        with pytest.raises(UserError, match=r'VOC07: .*000007\.xml cannot be read'):
            VOC07(str(folder))
