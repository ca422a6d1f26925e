"""Features on disk: number of images per file, interruptions, and folders that must not be continued."""

import shutil
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from mmengine.model import BaseModel
from PIL import Image
from torch import Tensor

from mixcl.datasets import FolderImages, ImageFolder, KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import extract_to_files, open_folder, read_features

IDENTITY = dict(checkpoint='1234', feature=dict(type='Output'), sizes=(1, 2))
PIPELINE = [dict(type='mixcl.LoadImage'), dict(type='mmpretrain.PackInputs')]


class FirstPixels(BaseModel):
    """Model whose features are an image's first pixels."""

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        return images[:, :, 0, :2].flatten(1).float()

    forward = extract_features


@pytest.fixture
def images(tmp_path: Path) -> KeyedDataset:
    """Write seven images: b and g cannot be read, and one name is not valid UTF-8."""
    folder = tmp_path / 'images'
    folder.mkdir()
    for number, name in enumerate((b'a', b'b', b'c', b'd', b'caf\xe9', b'f', b'g')):
        path = folder / (name + b'.png').decode(errors='surrogateescape')
        Image.fromarray(np.full((4, 4, 3), number, dtype=np.uint8)).save(path)
    (folder / 'b.png').write_bytes(b'no image')
    (folder / 'g.png').write_bytes(b'')
    return KeyedDataset(ImageFolder(str(folder), pipeline=PIPELINE, test_mode=True))


def extract(images: KeyedDataset, out: Path, images_per_file: int = 3) -> dict[str, int]:
    """Extract features; return the files and when they were written."""
    open_folder(out, IDENTITY)
    assert extract_to_files(out, FirstPixels(), images, images_per_file, batch_size=2, num_workers=0) == 2
    return {path.name: path.stat().st_mtime_ns for path in out.iterdir()}


def test_classes_are_named_beside_their_labels(tmp_path: Path) -> None:
    for name in ('cat/a', 'cat/b', 'dog/c', 'emu/d'):
        path = tmp_path / f'photos/{name}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (4, 4)).save(path)
    photos = KeyedDataset(FolderImages(str(tmp_path / 'photos'), pipeline=PIPELINE, test_mode=True))
    open_folder(tmp_path / 'out', IDENTITY)
    extract_to_files(tmp_path / 'out', FirstPixels(), photos, images_per_file=3, batch_size=2, num_workers=0)
    found = read_features(tmp_path / 'out')
    expected = {'cat/a.png': 'cat', 'cat/b.png': 'cat', 'dog/c.png': 'dog', 'emu/d.png': 'emu'}
    assert dict(zip(found['names'].tolist(), found['classes'].tolist(), strict=True)) == expected


@pytest.mark.parametrize(('images_per_file', 'files'), [(3, 3), (7, 1)])
def test_a_row_per_image_in_files_of_so_many(
    images: KeyedDataset, tmp_path: Path, images_per_file: int, files: int
) -> None:
    written = extract(images, tmp_path / 'out', images_per_file)
    assert set(written) == {'meta.json', *(f'features_{number:05d}.npz' for number in range(files))}
    found = read_features(tmp_path / 'out')
    assert set(found) == {'features', 'names', 'unreadable'}
    assert found['names'].tolist() == ['a.png', 'b.png', 'c.png', 'caf\udce9.png', 'd.png', 'f.png', 'g.png']
    assert found['unreadable'].tolist() == ['', 'not an image', '', '', '', '', 'the file is empty']
    assert found['features'].dtype == np.float32
    expected = np.array([0, np.nan, 2, 4, 3, 5, np.nan])[:, None].repeat(6, axis=1)
    np.testing.assert_array_equal(found['features'], expected)


def test_files_that_are_there_stay_unless_they_are_damaged(images: KeyedDataset, tmp_path: Path) -> None:
    written, path = extract(images, tmp_path / 'out'), tmp_path / 'out/features_00001.npz'
    whole = path.read_bytes()
    path.unlink()
    again = extract(images, tmp_path / 'out')
    assert path.read_bytes() == whole
    assert [name for name, time in again.items() if written[name] != time] == [path.name]
    path.write_bytes(whole[:60])
    with pytest.raises(UserError, match=r'features_00001\.npz is damaged .* remove it and run the same command again'):
        extract(images, tmp_path / 'out')
    path.unlink()
    path.with_name('features_00000.npz').rename(path)
    with pytest.raises(UserError, match=r'features_00001\.npz holds features of images with other names'):
        extract(images, tmp_path / 'out')


def test_files_of_images_that_are_gone_and_files_without_a_part(images: KeyedDataset, tmp_path: Path) -> None:
    extract(images, tmp_path / 'out')
    first = tmp_path / 'out/features_00000.npz'
    shutil.copy(first, tmp_path / 'out' / f'features_{len([*first.parent.glob("*.npz")]):05}.npz')
    with pytest.raises(UserError, match='holds features of images that are no longer in the data set'):
        extract(images, tmp_path / 'out')
    np.savez(first, features=np.ones((2, 3)))
    with pytest.raises(UserError, match=r'features_00000\.npz is damaged'):
        extract(images, tmp_path / 'out')


ROWS = dict(
    features=np.ones((2, 3), np.float32), names=np.array(['a', 'b']), unreadable=np.array(['', '']), labels=np.arange(2)
)


def test_files_that_do_not_fit_each_other(tmp_path: Path) -> None:
    np.savez(tmp_path / 'features_00000.npz', **ROWS)
    wide, unlabelled = ROWS | dict(features=np.ones((2, 4), np.float32)), {**ROWS}
    unlabelled.pop('labels')
    for other in (wide, unlabelled):
        np.savez(tmp_path / 'features_00001.npz', **other)
        with pytest.raises(UserError, match=r'features_00001\.npz has other columns than features_00000\.npz; extract'):
            read_features(tmp_path)


def test_files_whose_parts_do_not_fit_each_other(images: KeyedDataset, tmp_path: Path) -> None:
    extract(images, tmp_path / 'out')
    path = tmp_path / 'out/features_00000.npz'
    whole = dict(np.load(path))
    for name, wrong in dict(
        features=whole['features'][1:],
        names=whole['names'][:, None],
        labels=np.arange(3) / 2,
        unreadable=np.where(whole['unreadable'] == '', 'a reason', ''),
    ).items():
        np.savez(path, **whole | {name: wrong})
        for use in (lambda: extract(images, tmp_path / 'out'), lambda: read_features(tmp_path / 'out')):
            with pytest.raises(UserError, match=r'features_00000\.npz is damaged \('):
                use()
    np.savez(path, **whole | dict(features=whole['features'].repeat(2, axis=1)))
    with pytest.raises(UserError, match='features of another width'):
        extract(images, tmp_path / 'out')


def test_an_encoder_that_diverged_and_labels_that_changed(images: KeyedDataset, tmp_path: Path) -> None:
    extract(images, tmp_path / 'out')
    with (
        patch('mixcl.evaluation.feature_files.labels_of', lambda _: np.arange(7)),
        pytest.raises(UserError, match=r'features_00000\.npz holds features of images with other labels'),
    ):
        extract(images, tmp_path / 'out')
    with (
        patch.object(FirstPixels, 'extract_features', lambda self, images, encoder: images.flatten(1) / 0.0),
        pytest.raises(UserError, match='image features contain NaN or infinity: the encoder diverged'),
    ):
        extract(images, tmp_path / 'new')
    assert not [*(tmp_path / 'new').glob('*.npz')]


def test_another_identity_is_not_continued(tmp_path: Path) -> None:
    open_folder(tmp_path / 'out', IDENTITY)
    open_folder(tmp_path / 'out', IDENTITY)
    with pytest.raises(UserError, match=r'features of another feature .*; give another `out`'):
        open_folder(tmp_path / 'out', IDENTITY | dict(feature=dict(type='PooledGrid')))


def test_places_that_are_no_features(tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').touch()
    with pytest.raises(UserError, match=r'cannot be written .*File exists.*`out`'):
        open_folder(tmp_path / 'notes.txt', IDENTITY)
    for text in (None, 'no json', '[1]'):
        if text:
            (tmp_path / 'meta.json').write_text(text)
        with pytest.raises(UserError, match='holds something other than features; give a new or an empty folder'):
            open_folder(tmp_path, IDENTITY)
    with pytest.raises(UserError, match='holds no features'):
        read_features(tmp_path)


def test_a_file_that_is_missing(images: KeyedDataset, tmp_path: Path) -> None:
    extract(images, tmp_path / 'out')
    (tmp_path / 'out/features_00001.npz').unlink()
    with pytest.raises(UserError, match=r'has no features_00001\.npz, but features_00002'):
        read_features(tmp_path / 'out')
