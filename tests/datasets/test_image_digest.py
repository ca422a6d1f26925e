"""A digest changes with names and order of the images, and with nothing else."""

import shutil
from pathlib import Path

from mmpretrain.datasets import BaseDataset
from own_sources import photo, write_hugging_face
from PIL import Image

from mixcl.datasets import Digits, FolderImages, HuggingFaceImages, ListedImages
from mixcl.datasets.image_digest import NAMES, differing_names, image_digest, write_names


def test_names_and_order_of_a_folder_count_and_its_place_does_not(tmp_path: Path) -> None:
    def digest(folder: Path) -> dict:
        return image_digest(FolderImages(str(folder), pipeline=[]))

    folder, moved = tmp_path / 'photos', tmp_path / 'elsewhere/photos'
    for name in ('a/img_1.png', 'a/img_2.png', 'b/img_1.png'):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (4, 4)).save(folder / name)
    first = digest(folder)
    shutil.copytree(folder, moved)
    assert first == digest(moved) and first['number'] == 3
    (moved / 'a/img_2.png').rename(moved / 'a/img_3.png')
    assert digest(moved) != first and digest(moved)['number'] == 3
    for image in (moved / 'a').iterdir():  # all names with a common prefix
        image.rename(image.with_name(image.name.replace('img', 'photo')))
    assert digest(moved) != first
    (folder / 'b/img_1.png').unlink()
    assert digest(folder)['number'] == 2


def test_names_that_differ(tmp_path: Path) -> None:
    def names(*parts: str, root: str = '/data') -> Named:
        return Named(ann_file=' '.join(f'{root}/{part}' for part in parts), data_root=root, pipeline=[])

    def told(now: Named) -> str:
        return differing_names(tmp_path, digest, now)

    first = names('a/1.jpg', 'a/2.jpg', 'b/3.jpg')
    digest = image_digest(first)['digest']
    assert told(names('a/1.jpg')) == ''
    write_names(tmp_path, first)
    assert told(names('a/1.jpg', 'b/3.jpg', 'map.png')) == '; new: map.png; gone: a/2.jpg'
    assert told(names('a/1.jpg', 'a/2.jpg')) == '; gone: b/3.jpg'
    assert told(names('a/1.jpg', 'a/2.jpg', 'b/4.jpg', root='/elsewhere')) == '; new: b/4.jpg; gone: b/3.jpg'
    assert told(names('a/1.jpg', 'a/2.jpg', 'b/3.jpg', *'vwxyz')) == '; new: v, w, x and 2 more'
    assert told(names('a/2.jpg', 'a/1.jpg', 'b/3.jpg')) == ''
    assert differing_names(tmp_path, 'of others', names('a/1.jpg')) == ''
    for damaged in (b'', b'no gzip', (tmp_path / NAMES).read_bytes()[:-9]):
        (tmp_path / NAMES).write_bytes(damaged)
        assert told(names('a/1.jpg')) == ''
    (tmp_path / NAMES).unlink()
    write_names(tmp_path, Digits('train', pipeline=[]))  # not in files
    assert not [*tmp_path.iterdir()]


def test_labels_count_where_they_are_learnt(tmp_path: Path) -> None:
    def digest(classes: str, labelled: bool) -> dict:
        lines = (f'{number}.jpg,{label}\n' for number, label in enumerate(classes))
        (tmp_path / 'list.csv').write_text(''.join(lines))
        return image_digest(ListedImages(f'{tmp_path}/list.csv', pipeline=[]), labelled)

    for number in range(4):
        (tmp_path / f'{number}.jpg').touch()
    assert digest('abab', labelled=False) == digest('aabb', labelled=False)
    assert digest('abab', labelled=True) == digest('abab', labelled=True) != digest('aabb', labelled=True)


def test_contents_count_where_names_are_numbers(tmp_path: Path) -> None:
    def digest(name: str, first: int) -> dict:
        path = write_hugging_face(tmp_path / f'{name}.parquet', {f'ant/{i}': photo(first + i) for i in range(9)})
        return image_digest(HuggingFaceImages(str(path), split='pretrain', pipeline=[]))

    assert digest('a', 0) == digest('moved', 0) != digest('others', 1)


class Named(BaseDataset):
    def load_data_list(self) -> list[dict]:
        return [dict(img_path=name) for name in self.ann_file.split()]


def test_order_and_images_in_memory() -> None:
    def digest(names: str) -> str:
        return image_digest(Named(ann_file=names, pipeline=[]))['digest']

    assert digest('/data/x/1 /data/x/2') == digest('/1 /2') != digest('/2 /1')
    assert digest('/data/1/2 /data/x') != digest('/data/1 /data/2/x')
    train, few = Digits('train', pipeline=[]), Digits('train', pipeline=[], indices=[1, 0])
    assert image_digest(train) == image_digest(Digits('train', pipeline=[])) != image_digest(few)
    assert image_digest(few) != image_digest(Digits('train', pipeline=[], indices=[0, 1]))
