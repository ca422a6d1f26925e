"""ImageNet-A, -R and -C from tiny folders in the layout of their archives."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from evaluation.archive_layouts import GROUPS, class_folders, imagenet_c, picture

from mixcl.datasets import ImageNetA, ImageNetC, ImageNetR
from mixcl.datasets.imagenet import imagenet_classes
from mixcl.datasets.imagenet_robustness import CORRUPTIONS
from mixcl.errors import UserError


def entries(dataset) -> list[dict]:
    return [dataset.get_data_info(number) for number in range(len(dataset))]


def test_class_lists() -> None:
    every = imagenet_classes()
    assert len(every) == 1000 and every == sorted(every)
    # Numbers from the data sets' own code: the first and last of ImageNet-A, the first two of ImageNet-R.
    assert [every.index(wnid) for wnid in imagenet_classes('imagenet_a')][::199] == [6, 988]
    assert [every.index(wnid) for wnid in imagenet_classes('imagenet_r')][:2] == [1, 2]
    assert len(imagenet_classes('imagenet_a')) == len(imagenet_classes('imagenet_r')) == 200


@pytest.mark.parametrize(('kind', 'subset'), [(ImageNetA, 'imagenet_a'), (ImageNetR, 'imagenet_r')])
def test_labels_are_those_of_imagenet(kind: type, subset: str, tmp_path: Path) -> None:
    root = class_folders(tmp_path / subset, subset)
    first = root / imagenet_classes(subset)[0]
    picture(first / 'extra.png')
    (first / '._0.jpg').write_text('written beside each file by some systems')
    picture(root / '.hidden/0.jpg')
    dataset = kind(str(root))
    assert len(dataset) == 201
    for entry in entries(dataset):
        assert imagenet_classes()[entry['gt_label']] == Path(entry['img_path']).parent.name
    assert dataset.metainfo['class_numbers'] == tuple(sorted({entry['gt_label'] for entry in entries(dataset)}))
    assert dataset.metainfo['classes'] == tuple(imagenet_classes(subset))


def test_wrong_class_folders(tmp_path: Path) -> None:
    root = class_folders(tmp_path / 'a', 'imagenet_a')
    with pytest.raises(UserError, match=r'ImageNetR: .*n\d+ is missing; expected under .*<wnid>/\*\.jpg'):
        ImageNetR(str(root))
    (root / 'n01498041').rename(root / 'mammals')
    with pytest.raises(UserError, match='n01498041 is missing'):
        ImageNetA(str(root))


@pytest.mark.parametrize('grouped', [True, False])
def test_imagenet_c(tmp_path: Path, grouped: bool) -> None:
    root = imagenet_c(tmp_path / 'c', grouped=grouped)
    assert tuple(name for names in GROUPS.values() for name in names) == CORRUPTIONS
    # The archive of extra corruptions is not part of the benchmark.
    picture(root / 'extra/spatter/1/n01440764/0.JPEG')
    found = entries(ImageNetC(str(root)))
    settings = Counter((entry['corruption'], entry['severity']) for entry in found)
    assert settings == {(corruption, severity): 2 for corruption in CORRUPTIONS for severity in (1, 2, 3, 4, 5)}
    for entry in found:
        *_, corruption, severity, wnid, _ = Path(entry['img_path']).parts
        assert (corruption, int(severity)) == (entry['corruption'], entry['severity'])
        assert imagenet_classes()[entry['gt_label']] == wnid


def test_incomplete_imagenet_c(tmp_path: Path) -> None:
    root = imagenet_c(tmp_path / 'c')
    (root / 'weather/fog/3/n01443537').rename(root / 'weather/fog/3/fish')
    with pytest.raises(UserError, match=r'fog/3 holds 1 images, but every .* as many as the fullest, 2'):
        ImageNetC(str(root))
    for folder, missing in (('weather/fog/3', 'weather/fog/3'), ('noise', 'gaussian_noise/1')):
        shutil.rmtree(root / folder)
        with pytest.raises(UserError, match=f'{missing} is missing; expected under .* all of noise, blur'):
            ImageNetC(str(root))
