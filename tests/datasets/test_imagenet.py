"""ImageNet-1K's folders are checked before a run; 100 of its classes; TinyImageNet."""

from pathlib import Path

import pytest
from own_sources import write_folder

from mixcl.datasets import ImageNet1K, ImageNet100, TinyImageNet
from mixcl.datasets.imagenet import imagenet_classes
from mixcl.errors import UserError


def check_layout(root: Path, split: str = 'val') -> None:
    ImageNet1K(data_root=str(root), split=split, lazy_init=True).check_layout()


def labels(root: Path) -> list[int]:
    return [image['gt_label'] for image in ImageNet1K(data_root=str(root), split='val')]


def test_one_folder_per_class(tmp_path: Path) -> None:
    names = imagenet_classes()
    for name in names:
        (tmp_path / 'val' / name).mkdir(parents=True)
    write_folder(tmp_path, [f'val/{names[7]}/1.png'])
    check_layout(tmp_path)
    assert labels(tmp_path) == [7]
    (tmp_path / 'val/.cache').mkdir()  # mmpretrain counts hidden folders
    with pytest.raises(UserError, match=r'val should hold .* 1,000 classes, but 1 are .* such as \.cache'):
        check_layout(tmp_path)
    with pytest.raises(UserError, match=r'train should hold .* but 1000 are missing .*`data_root`, or, for fewer'):
        check_layout(tmp_path, 'train')


def test_listed_images_need_no_folders(tmp_path: Path) -> None:
    write_folder(tmp_path, ['val/1.JPEG', 'val/2.JPEG'])
    with pytest.raises(UserError, match='but 1000 are missing'):
        check_layout(tmp_path)
    (tmp_path / 'meta').mkdir()
    (tmp_path / 'meta/val.txt').write_text('1.JPEG 65\n2.JPEG 970\n')
    check_layout(tmp_path)
    assert labels(tmp_path) == [65, 970]


def test_imagenet100_is_a_list_of_classes(tmp_path: Path) -> None:
    wnids = [f'n{number:03d}' for number in range(103)]
    write_folder(tmp_path, [f'train/{wnid}/{wnid}_1.JPEG' for wnid in wnids])
    (tmp_path / 'imagenet100.txt').write_text('\n'.join(wnids[3:]) + '\n')
    images = ImageNet100(str(tmp_path))
    assert images.get_gt_labels().tolist() == list(range(100)) and images.metainfo['classes'] == tuple(wnids[3:])
    assert Path(images.get_data_info(99)['img_path']) == tmp_path / 'train/n102/n102_1.JPEG'
    with pytest.raises(UserError, match=r'val.n003 is missing'):
        ImageNet100(str(tmp_path), split='val')
    with pytest.raises(UserError, match=r'other\.txt is missing'):
        ImageNet100(str(tmp_path), class_list='other.txt')
    (tmp_path / 'imagenet100.txt').write_text('n001 n002')
    with pytest.raises(UserError, match='names 2 different classes'):
        ImageNet100(str(tmp_path))


def test_both_splits_of_tiny_imagenet(tmp_path: Path) -> None:
    images = [f'train/{wnid}/images/{wnid}_{number}.JPEG' for wnid in ('n02', 'n01') for number in range(3)]
    write_folder(tmp_path, [*images, 'val/images/val_0.JPEG', 'val/images/val_1.JPEG'])
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
