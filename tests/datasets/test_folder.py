"""Which files of a folder are images."""

from pathlib import Path

import pytest
from own_sources import write_folder

from mixcl.datasets import ImageFolder
from mixcl.errors import UserError


def paths(dataset: ImageFolder) -> list[str]:
    return [dataset.get_data_info(index)['img_path'] for index in range(len(dataset))]


def test_all_usual_endings_in_any_letter_case_however_deep(tmp_path: Path) -> None:
    names = ['A.JPG', 'b.jpeg', 'c.Png', 'd.webp', 'e.GIF', 'f.bmp', 'g.tif', 'h.TIFF', 'i.ppm', 'j.jpe', 'k.jfif']
    names += ['x/l.pgm', 'x/y/z/m.jpg', 'x/n.avif', 'x/o.jp2', 'x/p.TGA']
    others = ['notes.txt', 'x/labels.json', 'jpg', '.hidden.jpg', '.cache/thumbnail.jpg', 'x/.git/a.png']
    write_folder(tmp_path, names + others)
    assert paths(ImageFolder(str(tmp_path))) == sorted(f'{tmp_path}/{name}' for name in names)


def test_symbolic_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    elsewhere, root = tmp_path / 'elsewhere', tmp_path / 'root'
    write_folder(tmp_path, ['elsewhere/far.jpg', 'root/sub/near.jpg'])
    (root / 'sub/circle').symlink_to(root)
    (root / 'linked').symlink_to(elsewhere)
    (root / 'alias.jpg').symlink_to(elsewhere / 'far.jpg')
    found = [Path(path).relative_to(root).as_posix() for path in paths(ImageFolder(str(root)))]
    assert found == ['alias.jpg', 'linked/far.jpg', 'sub/near.jpg']


def test_a_missing_folder_and_one_without_images(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'none does not exist: .*`data_root`'):
        ImageFolder(str(tmp_path / 'none'))
    write_folder(tmp_path, ['a.txt', 'b/c.mp4', '.hidden.jpg'])
    with pytest.raises(UserError, match=rf'no images in the folder {tmp_path}: .*\.webp.*, and saw 2 other file'):
        ImageFolder(str(tmp_path))
